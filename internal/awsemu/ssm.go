package awsemu

import (
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// ssmActions returns SSM's operations. They read the public parameters with the ids of AMIs.
func (e *Emulator) ssmActions() map[string]handler {
	return map[string]handler{"GetParameter": e.getParameter, "GetParameters": e.getParameters}
}

type parameterJSON struct {
	Name     string  `json:"Name"`
	Type     string  `json:"Type"`
	Value    string  `json:"Value"`
	Version  int     `json:"Version"`
	Modified float64 `json:"LastModifiedDate"`
	ARN      string  `json:"ARN"`
	DataType string  `json:"DataType"`
}

// parameter returns a public parameter, and false if it does not exist.
func (e *Emulator) parameter(name string) (parameterJSON, bool) {
	value, set, ok := e.world.Parameter(name)
	return parameterJSON{
		Name: name, Type: "String", Value: value, Version: 1, Modified: float64(set.Unix()),
		ARN: "arn:" + e.world.Partition() + ":ssm:" + e.world.Region() + "::parameter" + name, DataType: "text",
	}, ok
}

func (e *Emulator) getParameter(r *request) (any, *wire.Error) {
	var in struct{ Name string }
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	p, ok := e.parameter(in.Name)
	if !ok {
		return nil, wire.Errorf("ParameterNotFound", "Parameter %s not found.", in.Name)
	}
	return map[string]parameterJSON{"Parameter": p}, nil
}

// getParameters returns up to ten parameters, and the names of those that do not exist.
func (e *Emulator) getParameters(r *request) (any, *wire.Error) {
	var in struct{ Names []string }
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if len(in.Names) == 0 || len(in.Names) > 10 {
		return nil, wire.Errorf("ValidationException",
			"1 validation error detected: Value at 'names' failed to satisfy constraint: "+
				"Member must have length between 1 and 10")
	}
	out := struct {
		Parameters []parameterJSON
		Invalid    []string `json:"InvalidParameters"`
	}{Parameters: []parameterJSON{}, Invalid: []string{}}
	for _, name := range in.Names {
		if p, ok := e.parameter(name); ok {
			out.Parameters = append(out.Parameters, p)
		} else {
			out.Invalid = append(out.Invalid, name)
		}
	}
	return out, nil
}
