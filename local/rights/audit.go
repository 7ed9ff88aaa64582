package rights

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// AuditPolicy returns an audit policy for an API server that logs every request of the user, without bodies. A watch
// is also logged when it starts, because it may not have ended when the log is read.
func AuditPolicy(user string) []byte {
	return fmt.Appendf(nil, `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, Panic]
rules:
- level: Metadata
  users: [%q]
- level: None
`, user)
}

// A Right is a verb on a resource. If Name is not empty, it holds only for the object with that name.
type Right struct{ Verb, Group, Resource, Name string }

// String returns the right as "verb resource.group/name".
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	return text
}

// Granted returns the rights of rules, sorted by text.
func Granted(rules []rbacv1.PolicyRule) []Right {
	set := map[Right]bool{}
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range r.Verbs {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, name := range names {
						set[Right{verb, group, resource, name}] = true
					}
				}
			}
		}
	}
	return sorted(set)
}

// An Audit has the rights that the requests of a user needed, from an audit log.
type Audit struct {
	// Used are the rights that requests needed, with the name of the object.
	Used map[Right]bool
	// Denied are the rights that the user lacked, sorted by text.
	Denied []Right
}

// event has the fields of an audit event that are read.
type event struct {
	Verb      string `json:"verb"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Annotations map[string]string `json:"annotations"`
}

// ReadAudit reads an audit log of one user.
func ReadAudit(log io.Reader) (Audit, error) {
	a := Audit{Used: map[Right]bool{}}
	denied := map[Right]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return Audit{}, fmt.Errorf("read audit event: %w", err)
		}
		if e.ObjectRef == nil || e.ObjectRef.Resource == "" {
			continue // requests for discovery and health have no resource
		}
		right := Right{e.Verb, e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Name}
		if e.ObjectRef.Subresource != "" {
			right.Resource += "/" + e.ObjectRef.Subresource
		}
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			denied[right] = true
			continue
		}
		a.Used[right] = true
	}
	a.Denied = sorted(denied)
	return a, lines.Err()
}

// Unused returns the granted rights that no request needed.
func (a Audit) Unused(granted []Right) []Right {
	used := map[Right]bool{}
	for r := range a.Used {
		used[r] = true
		r.Name = ""
		used[r] = true
	}
	return slices.DeleteFunc(slices.Clone(granted), func(r Right) bool { return used[r] })
}

func sorted(set map[Right]bool) []Right {
	return slices.SortedFunc(maps.Keys(set), func(a, b Right) int { return strings.Compare(a.String(), b.String()) })
}
