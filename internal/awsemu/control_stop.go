package awsemu

import (
	"fmt"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// Stop stops the running instances whose ID or Node matches the pattern, as a user of the account does. It leaves out spot
// instances, because EC2 does not stop those of fleets. It returns their ids in order of launch, and an error if none matches.
func (e *Emulator) Stop(pattern string) ([]string, error) {
	ids := e.matching(pattern, func(i world.Instance) bool {
		return i.State(e.world.Now()) == world.Running && i.Capacity != world.Spot
	})
	if len(ids) == 0 {
		return nil, fmt.Errorf("stop instances: %q matches the ID or node of no running instance other than spot instances, which cannot be stopped", pattern)
	}
	if _, failure := e.world.Stop(ids); failure != nil {
		return nil, failure
	}
	return ids, nil
}

// Start starts the stopped instances whose ID or Node matches the pattern. It returns their ids in order of launch, and an error if
// none matches.
func (e *Emulator) Start(pattern string) ([]string, error) {
	ids := e.matching(pattern, func(i world.Instance) bool { return i.State(e.world.Now()) == world.Stopped })
	if len(ids) == 0 {
		return nil, fmt.Errorf("start instances: %q matches the ID or node of no stopped instance", pattern)
	}
	if _, failure := e.world.Start(ids); failure != nil {
		return nil, failure
	}
	return ids, nil
}

// matching returns the ids of the instances whose ID or Node matches the pattern, for which is returns true.
func (e *Emulator) matching(pattern string, is func(world.Instance) bool) (ids []string) {
	for _, i := range e.world.Instances(false) {
		if (wire.Match(pattern, i.ID) || wire.Match(pattern, i.PrivateDNS(e.world.Region()))) && is(i) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}
