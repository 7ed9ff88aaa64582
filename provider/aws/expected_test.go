package aws_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// check compares one expected fact with the result. The facts are
//
//	nodes POOL N            N nodes are planned
//	types POOL GLOB...      all types of the fleet match one of the globs
//	among POOL TYPE...      these types are among those of the fleet
//	never POOL GLOB...      no type of the fleet matches one of the globs
//	fleet POOL KEY=VALUE... the call of CreateFleet has these parameters
//	template POOL KEY=VALUE... each launch template has these parameters; KEY= means that it does not have the parameter
//	instance POOL LABEL=VALUE... the launched instance has these labels
//	image POOL GLOB         the name of the instance's image matches
//	room POOL RESOURCE=QUANTITY... the expected allocatable resources of the node
//	boot POOL KEY=VALUE...  the operating system reads these settings from its user data
//	data POOL TEXT          the user data contains the text
func (s *shown) check(words []string) error {
	if len(words) < 3 {
		return errors.New("want a verb, a pool and a fact")
	}
	verb, pool, facts := words[0], words[1], words[2:]
	if verb == "nodes" {
		if got := fmt.Sprint(s.planned[pool]); got != facts[0] {
			return fmt.Errorf("%s are planned", got)
		}
		return nil
	}
	l := s.launches[pool]
	if l == nil {
		return errors.New("nothing was launched")
	}
	switch verb {
	case "types", "among", "never":
		return l.checkTypes(verb, facts)
	case "data":
		for _, text := range l.data {
			if want := strings.Join(facts, " "); !strings.Contains(squeeze(text), want) {
				return fmt.Errorf("it is\n%s", text)
			}
		}
		return nil
	case "image":
		return s.checkImage(l, facts[0])
	}
	return l.checkPairs(verb, facts)
}

// squeeze writes every run of white space as one blank.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// like reports whether one of the globs matches the name.
func like(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return ok && err == nil
	})
}

func (l *shownLaunch) checkTypes(verb string, globs []string) error {
	var wrong []string
	if verb == "among" {
		for _, name := range globs {
			if !slices.Contains(l.types, name) {
				wrong = append(wrong, name)
			}
		}
		if len(wrong) > 0 {
			return fmt.Errorf("%v are missing among %v", wrong, l.types)
		}
		return nil
	}
	for _, name := range l.types {
		if like(globs, name) == (verb == "never") {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 || len(l.types) == 0 {
		return fmt.Errorf("the fleet may choose from %v", wrong)
	}
	return nil
}

// checkImage looks the image's name up in the list of instances.
func (s *shown) checkImage(l *shownLaunch, glob string) error {
	for _, i := range s.instances {
		if strings.HasSuffix(l.instance.ProviderID, i.ID) {
			if !like([]string{glob}, i.Image) {
				return fmt.Errorf("it is %s", i.Image)
			}
			return nil
		}
	}
	return errors.New("there is no such instance")
}

// checkPairs checks facts of the form KEY=VALUE.
func (l *shownLaunch) checkPairs(verb string, facts []string) error {
	var wrong []error
	for _, fact := range facts {
		key, want, ok := strings.Cut(fact, "=")
		if !ok {
			return fmt.Errorf("%q is not of the form key=value", fact)
		}
		values, err := l.values(verb, key)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			wrong = append(wrong, errors.New("there is nothing to look at"))
		}
		for _, got := range values {
			if got != want && !(verb == "room" && same(got, want)) {
				wrong = append(wrong, fmt.Errorf("%s is %q", key, got))
			}
		}
	}
	return errors.Join(wrong...)
}

// values returns the value of key in each place that has it.
func (l *shownLaunch) values(verb, key string) (out []string, err error) {
	switch verb {
	case "fleet":
		out = append(out, l.fleet[key])
	case "instance":
		out = append(out, l.instance.Labels[key])
	case "room":
		q := l.instance.Allocatable[corev1.ResourceName(key)]
		out = append(out, (&q).String())
	case "template":
		for _, t := range l.templates {
			out = append(out, t["LaunchTemplateData."+key])
		}
	case "boot":
		for _, b := range l.boots {
			known := map[string]string{
				"maxPods": fmt.Sprint(b.Kubelet.MaxPods), "podsPerCore": fmt.Sprint(b.Kubelet.PodsPerCore), "raid0": fmt.Sprint(b.RAID0),
			}
			for _, t := range b.Taints {
				known["taint:"+t.Key] = t.Value + ":" + string(t.Effect)
			}
			for group, values := range map[string]map[string]string{
				"label": b.Labels, "kubeReserved": b.Kubelet.KubeReserved, "systemReserved": b.Kubelet.SystemReserved,
				"evictionHard": b.Kubelet.EvictionHard,
			} {
				for k, v := range values {
					known[group+":"+k] = v
				}
			}
			out = append(out, known[key])
		}
	default:
		return nil, fmt.Errorf("%q is no verb", verb)
	}
	return out, nil
}

// same reports whether two quantities are the same amount.
func same(a, b string) bool {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
