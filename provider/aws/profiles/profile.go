package profiles

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// API is the part of IAM that creates instance profiles.
type API interface {
	GetInstanceProfile(context.Context, *iam.GetInstanceProfileInput, ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
	CreateInstanceProfile(context.Context, *iam.CreateInstanceProfileInput, ...func(*iam.Options)) (*iam.CreateInstanceProfileOutput, error)
	AddRoleToInstanceProfile(context.Context, *iam.AddRoleToInstanceProfileInput, ...func(*iam.Options)) (*iam.AddRoleToInstanceProfileOutput, error)
}

// RemovalAPI is the part of IAM that lists and deletes instance profiles.
type RemovalAPI interface {
	ListInstanceProfiles(context.Context, *iam.ListInstanceProfilesInput, ...func(*iam.Options)) (*iam.ListInstanceProfilesOutput, error)
	RemoveRoleFromInstanceProfile(context.Context, *iam.RemoveRoleFromInstanceProfileInput, ...func(*iam.Options)) (*iam.RemoveRoleFromInstanceProfileOutput, error)
	DeleteInstanceProfile(context.Context, *iam.DeleteInstanceProfileInput, ...func(*iam.Options)) (*iam.DeleteInstanceProfileOutput, error)
}

var (
	_ API        = (*iam.Client)(nil)
	_ RemovalAPI = (*iam.Client)(nil)
)

// ErrNoRole means that the role does not exist in the account. ErrNoProfile means that spec.instanceProfile of the
// class does not exist.
var (
	ErrNoRole    = errors.New("role does not exist")
	ErrNoProfile = errors.New("instance profile does not exist")
)

const (
	rightLife   = 15 * time.Minute // how long the role of a profile is cached
	missingLife = time.Minute      // how long it is cached that a role does not exist
	doubtLife   = time.Hour        // how long at most a refusal of EC2 makes Ensure check a profile of spec.instanceProfile
	guardLife   = time.Hour        // how long Sweep ignores a profile that Ensure has created or replaced
)

// Profiles creates and deletes the instance profiles of one cluster. It is safe for concurrent use.
type Profiles struct {
	api     API
	removal RemovalAPI
	cluster string
	region  string
	right   *ttl.Cache[string, string] // profile name to role
	missing *ttl.Cache[string, bool]   // roles
	doubted *ttl.Cache[string, bool]   // profile names
	guarded *ttl.Cache[string, bool]   // profile names
}

// Config has the dependencies and settings of Profiles.
type Config struct {
	API             API
	Removal         RemovalAPI
	Cluster, Region string
	Clock           clock.PassiveClock
}

// New returns a Profiles with empty caches.
func New(c Config) *Profiles {
	return &Profiles{
		api: c.API, removal: c.Removal, cluster: c.Cluster, region: c.Region,
		right:   ttl.New[string, string](c.Clock, rightLife),
		missing: ttl.New[string, bool](c.Clock, missingLife),
		doubted: ttl.New[string, bool](c.Clock, doubtLife),
		guarded: ttl.New[string, bool](c.Clock, guardLife),
	}
}

// Ensure returns the name of the profile of the class. If the class has a role, but no current profile with that
// role, Ensure creates a profile. The error wraps ErrNoRole if the role does not exist. It wraps ErrNoProfile if the
// class has a profile that EC2 refused and that does not exist.
func (p *Profiles) Ensure(ctx context.Context, class *awsv1.EC2NodeClass) (string, error) {
	if class.Spec.InstanceProfile != nil {
		return p.named(ctx, *class.Spec.InstanceProfile)
	}
	role := path.Base(class.Spec.Role)
	if _, known := p.missing.Get(role); known {
		return "", fmt.Errorf("use role %s: %w", role, ErrNoRole)
	}
	current := class.Status.InstanceProfile
	if current != "" {
		ok, err := p.has(ctx, current, role)
		if ok || err != nil {
			return current, err
		}
		p.guarded.Set(current, true)
	}
	name := p.name(class, role)
	p.guarded.Set(name, true) // the status of the class does not have the name before make has returned
	if err := p.make(ctx, class, name, role); err != nil {
		return "", err
	}
	p.right.Set(name, role)
	return name, nil
}

// Doubt makes the next Ensure check the profile in IAM, because EC2 refused it.
func (p *Profiles) Doubt(name string) {
	p.right.Delete(name)
	p.doubted.Set(name, true)
}

// named returns the name of the profile in spec.instanceProfile. IAM is called only if EC2 refused
// the profile. If it does not exist there either, the error wraps ErrNoProfile. If IAM cannot be
// read, the profile counts as existing.
func (p *Profiles) named(ctx context.Context, name string) (string, error) {
	if _, doubted := p.doubted.Get(name); !doubted {
		return name, nil
	}
	_, exists, err := p.roles(ctx, name)
	if err == nil && !exists {
		return "", fmt.Errorf("use instance profile %s: %w", name, ErrNoProfile)
	}
	p.doubted.Delete(name) // the profile exists, or IAM could not be read
	return name, nil
}

// has reports whether the profile exists and has the role.
func (p *Profiles) has(ctx context.Context, name, role string) (bool, error) {
	if known, ok := p.right.Get(name); ok {
		return known == role, nil
	}
	roles, exists, err := p.roles(ctx, name)
	if err != nil || !exists || !slices.Contains(roles, role) {
		return false, err
	}
	p.right.Set(name, role)
	return true, nil
}

func (p *Profiles) roles(ctx context.Context, name string) (roles []string, exists bool, err error) {
	out, err := p.api.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	switch {
	case fault.NotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("get instance profile %s: %w", name, err)
	case out.InstanceProfile == nil:
		return nil, false, nil
	}
	return rolesOf(out.InstanceProfile), true, nil
}

// make creates the profile with the role. If the profile exists already, only the role is added. If the role cannot be
// added, make deletes a profile that it has created.
func (p *Profiles) make(ctx context.Context, class *awsv1.EC2NodeClass, name, role string) error {
	roles, exists, err := p.roles(ctx, name)
	if err != nil {
		return err
	}
	if !exists {
		_, err := p.api.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
			InstanceProfileName: aws.String(name), Path: aws.String(p.path(string(class.UID))), Tags: p.tags(class),
		})
		if err != nil && !fault.Exists(err) {
			return fmt.Errorf("create instance profile %s: %w", name, err)
		}
		exists = err != nil // another process has created it in the meantime
	}
	if slices.Contains(roles, role) {
		return nil
	}
	_, err = p.api.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: aws.String(name), RoleName: aws.String(role),
	})
	switch {
	case err == nil:
		return nil
	case fault.RoleMissing(err):
		p.missing.Set(role, true)
		err = fmt.Errorf("use role %s: %w", role, ErrNoRole)
	default:
		err = fmt.Errorf("add role %s to instance profile %s: %w", role, name, err)
	}
	if !exists {
		return errors.Join(err, p.remove(ctx, name, nil))
	}
	return err
}

// name returns the name of the profile of a class and role. It contains a hash of the region, the class and the role,
// so it is the same in each call.
func (p *Profiles) name(class *awsv1.EC2NodeClass, role string) string {
	sum := sha256.Sum256([]byte(p.region + "\n" + string(class.UID) + "\n" + role))
	return fmt.Sprintf("%s_%d", p.cluster, binary.BigEndian.Uint64(sum[:8]))
}

// path returns the IAM path of the profiles of the class with the UID. Without a UID, it returns the path of all
// profiles of the cluster.
func (p *Profiles) path(uid string) string {
	base := fmt.Sprintf("/karpenter/%s/%s/", p.region, p.cluster)
	if uid == "" {
		return base
	}
	return base + uid + "/"
}

func (p *Profiles) tags(class *awsv1.EC2NodeClass) []iamtypes.Tag {
	tags := maps.Clone(class.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[awsv1.TagClusterPrefix+p.cluster] = "owned"
	tags[awsv1.TagEKSClusterName] = p.cluster
	tags[awsv1.TagNodeClass] = class.Name
	tags[corev1.LabelTopologyRegion] = p.region
	var out []iamtypes.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, iamtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}
