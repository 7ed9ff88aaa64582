package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
)

// limit is one entry of the table of network limits.
type limit struct {
	Interface               int
	IPv4PerInterface        int
	IsTrunkingCompatible    bool
	BranchInterface         int
	Cards                   []int // interfaces by card index
	DefaultNetworkCardIndex int
	Hypervisor              string
	IsBareMetal             bool
}

// generatedAt finds the date in the header of the limits file.
var generatedAt = regexp.MustCompile(`generated at (\d{4}-\d{2}-\d{2})`)

// readLimits parses the Go source of the limits table without compiling it. It returns the table and the date of its
// generation.
func readLimits(path string) (map[string]limit, string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, "", fmt.Errorf("parse limits: %w", err)
	}
	date := ""
	for _, group := range file.Comments {
		for _, c := range group.List {
			if m := generatedAt.FindStringSubmatch(c.Text); m != nil {
				date = m[1]
			}
		}
	}
	table, ok := variable(file, "Limits")
	if !ok {
		return nil, "", fmt.Errorf("parse limits: no variable Limits in %s", path)
	}
	limits := map[string]limit{}
	for _, element := range table.Elts {
		entry, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return nil, "", fmt.Errorf("parse limits: entry without key")
		}
		name, err := strconv.Unquote(entry.Key.(*ast.BasicLit).Value)
		if err != nil {
			return nil, "", fmt.Errorf("parse limits: %w", err)
		}
		l, err := parseLimit(entry.Value)
		if err != nil {
			return nil, "", fmt.Errorf("parse limits of %s: %w", name, err)
		}
		limits[name] = l
	}
	return limits, date, nil
}

// variable returns the composite literal that a package variable is set to.
func variable(file *ast.File, name string) (*ast.CompositeLit, bool) {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			vs, ok := spec.(*ast.ValueSpec)
			if !ok || len(vs.Names) != 1 || vs.Names[0].Name != name || len(vs.Values) != 1 {
				continue
			}
			lit, ok := vs.Values[0].(*ast.CompositeLit)
			return lit, ok
		}
	}
	return nil, false
}

// parseLimit reads one struct literal of the table.
func parseLimit(value ast.Expr) (limit, error) {
	var l limit
	fields, err := literalFields(value)
	if err != nil {
		return l, err
	}
	for name, target := range map[string]*int{
		"Interface": &l.Interface, "IPv4PerInterface": &l.IPv4PerInterface,
		"BranchInterface": &l.BranchInterface, "DefaultNetworkCardIndex": &l.DefaultNetworkCardIndex,
	} {
		if *target, err = intField(fields, name); err != nil {
			return l, err
		}
	}
	l.IsTrunkingCompatible = boolField(fields, "IsTrunkingCompatible")
	l.IsBareMetal = boolField(fields, "IsBareMetal")
	if lit, ok := fields["Hypervisor"].(*ast.BasicLit); ok {
		if l.Hypervisor, err = strconv.Unquote(lit.Value); err != nil {
			return l, err
		}
	}
	l.Cards, err = cards(fields["NetworkCards"])
	return l, err
}

// cards returns the number of interfaces by card index.
func cards(value ast.Expr) ([]int, error) {
	list, ok := value.(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("network cards are no list")
	}
	out := make([]int, len(list.Elts))
	for _, element := range list.Elts {
		fields, err := literalFields(element)
		if err != nil {
			return nil, err
		}
		index, err := intField(fields, "NetworkCardIndex")
		if err != nil {
			return nil, err
		}
		if index < 0 || index >= len(out) {
			return nil, fmt.Errorf("network card %d of %d", index, len(out))
		}
		if out[index], err = intField(fields, "MaximumNetworkInterfaces"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// literalFields returns the fields of a struct literal by name.
func literalFields(value ast.Expr) (map[string]ast.Expr, error) {
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("value is no struct literal")
	}
	fields := map[string]ast.Expr{}
	for _, element := range lit.Elts {
		kv, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return nil, fmt.Errorf("field without name")
		}
		name, ok := kv.Key.(*ast.Ident)
		if !ok {
			return nil, fmt.Errorf("field name is no identifier")
		}
		fields[name.Name] = kv.Value
	}
	return fields, nil
}

// intField returns an integer field, 0 if it is not set.
func intField(fields map[string]ast.Expr, name string) (int, error) {
	value, ok := fields[name]
	if !ok {
		return 0, nil
	}
	lit, ok := value.(*ast.BasicLit)
	if !ok {
		return 0, fmt.Errorf("field %s is no literal", name)
	}
	n, err := strconv.Atoi(lit.Value)
	if err != nil {
		return 0, fmt.Errorf("field %s: %w", name, err)
	}
	return n, nil
}

// boolField returns a boolean field, false if it is not set.
func boolField(fields map[string]ast.Expr, name string) bool {
	ident, ok := fields[name].(*ast.Ident)
	return ok && ident.Name == "true"
}
