package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A Role is an IAM role. Policies are not emulated.
type Role struct {
	Name, ID, ARN string
	Created       time.Time
}

// A Profile is an instance profile, which has at most one role.
type Profile struct {
	Name, Path, ID, ARN string
	Roles               []string
	Tags                map[string]string
	Created             time.Time
}

// AddRole adds a role to the account.
func (w *World) AddRole(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addRole(name)
}

func (w *World) addRole(name string) {
	w.roles[name] = Role{
		Name: name, ID: w.iamID("AROA"), ARN: fmt.Sprintf("arn:%s:iam::%s:role/%s", w.Partition(), w.cfg.Account, name),
		Created: w.cfg.Clock.Now(),
	}
}

// iamID returns an identifier in the format of IAM.
func (w *World) iamID(prefix string) string {
	return fmt.Sprintf("%s%016X", prefix, w.rng.Uint64())
}

// Role returns a role by name.
func (w *World) Role(name string) (Role, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.role(name)
}

func (w *World) role(name string) (Role, *wire.Error) {
	r, ok := w.roles[name]
	if !ok {
		return r, noSuchEntity("The role with name %s cannot be found.", name)
	}
	return r, nil
}

// noSuchEntity returns IAM's error for a missing object. Its status is 404.
func noSuchEntity(format string, args ...any) *wire.Error {
	e := wire.Errorf("NoSuchEntity", format, args...)
	e.Status = 404
	return e
}

// conflict returns an error of IAM with status 409.
func conflict(code, format string, args ...any) *wire.Error {
	e := wire.Errorf(code, format, args...)
	e.Status = 409
	return e
}

// CreateProfile creates an instance profile.
func (w *World) CreateProfile(name, path string, tags map[string]string) (Profile, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.profiles[name]; ok {
		return Profile{}, conflict("EntityAlreadyExists", "Instance Profile %s already exists.", name)
	}
	if path == "" {
		path = "/"
	}
	if !strings.HasPrefix(path, "/") || !strings.HasSuffix(path, "/") {
		return Profile{}, wire.Errorf("ValidationError",
			"The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	p := &Profile{
		Name: name, Path: path, ID: w.iamID("AIPA"), Tags: tags, Created: w.cfg.Clock.Now(),
		ARN: fmt.Sprintf("arn:%s:iam::%s:instance-profile%s%s", w.Partition(), w.cfg.Account, path, name),
	}
	w.profiles[name] = p
	return *p, nil
}

// Profile returns an instance profile by name.
func (w *World) Profile(name string) (Profile, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profile(name)
	if err != nil {
		return Profile{}, err
	}
	return *p, nil
}

func (w *World) profile(name string) (*Profile, *wire.Error) {
	p, ok := w.profiles[name]
	if !ok {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", name)
	}
	return p, nil
}

// Profiles returns the profiles below a path, sorted by name.
func (w *World) Profiles(pathPrefix string) []Profile {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Profile
	for _, p := range w.profiles {
		if strings.HasPrefix(p.Path, pathPrefix) {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b Profile) int { return compareText(a.Name, b.Name) })
	return out
}

// TagProfile adds tags to a profile.
func (w *World) TagProfile(name string, tags map[string]string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profile(name)
	if err != nil {
		return err
	}
	p.Tags = merged(p.Tags, tags)
	return nil
}

// AddRoleToProfile adds a role to a profile, which can have only one.
func (w *World) AddRoleToProfile(name, roleName string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profile(name)
	if err != nil {
		return err
	}
	if _, err := w.role(roleName); err != nil {
		return err
	}
	if len(p.Roles) > 0 {
		return conflict("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.Roles = []string{roleName}
	return nil
}

// RemoveRoleFromProfile removes a role from a profile.
func (w *World) RemoveRoleFromProfile(name, roleName string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profile(name)
	if err != nil {
		return err
	}
	if !slices.Contains(p.Roles, roleName) {
		return noSuchEntity("The role with name %s cannot be found.", roleName)
	}
	p.Roles = nil
	return nil
}

// DeleteProfile deletes a profile that has no role.
func (w *World) DeleteProfile(name string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profile(name)
	if err != nil {
		return err
	}
	if len(p.Roles) > 0 {
		return conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(w.profiles, name)
	return nil
}

// profileExists reports whether there is a profile with the name or ARN.
func (w *World) profileExists(nameOrARN string) bool {
	name := nameOrARN[strings.LastIndex(nameOrARN, "/")+1:]
	_, ok := w.profiles[name]
	return ok
}

// merged returns a new map with the entries of both. Those of b take precedence.
func merged(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}
