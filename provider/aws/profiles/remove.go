package profiles

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/mitchellh/hashstructure/v2"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// RemoveOf deletes all profiles that were created for the class, including one that an earlier version of upstream
// created.
func (p *Profiles) RemoveOf(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if err := p.removeAll(ctx, p.path(string(class.UID)), func(string) bool { return false }); err != nil {
		return err
	}
	return p.removeLegacy(ctx, class)
}

// legalName matches valid names of instance profiles.
var legalName = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)

// removeLegacy deletes the profile that an earlier version of upstream created for a class with this name. Such a
// profile has no path of the class, so it is found by its name. A profile with the name but without the tag of the
// cluster is not deleted.
func (p *Profiles) removeLegacy(ctx context.Context, class *awsv1.EC2NodeClass) error {
	name, err := p.legacyName(class)
	if err != nil {
		return err
	}
	if !legalName.MatchString(name) {
		return nil
	}
	out, err := p.api.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	switch {
	case fault.NotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get instance profile %s: %w", name, err)
	case out.InstanceProfile == nil || !p.owns(out.InstanceProfile):
		return nil
	}
	return p.remove(ctx, name, rolesOf(out.InstanceProfile))
}

// legacyName returns the name that an earlier version of upstream gave to the profile of a class.
func (p *Profiles) legacyName(class *awsv1.EC2NodeClass) (string, error) {
	sum, err := hashstructure.Hash(p.region+class.Name, hashstructure.FormatV2, nil)
	if err != nil {
		return "", fmt.Errorf("name former instance profile of node class %s: %w", class.Name, err)
	}
	return fmt.Sprintf("%s_%d", p.cluster, sum), nil
}

// owns reports whether the profile has the tag of the cluster.
func (p *Profiles) owns(i *iamtypes.InstanceProfile) bool {
	return slices.ContainsFunc(i.Tags, func(t iamtypes.Tag) bool {
		return aws.ToString(t.Key) == awsv1.TagClusterPrefix+p.cluster && aws.ToString(t.Value) == "owned"
	})
}

func rolesOf(i *iamtypes.InstanceProfile) []string {
	var names []string
	for _, r := range i.Roles {
		names = append(names, aws.ToString(r.RoleName))
	}
	return names
}

// Sweep deletes the cluster's profiles for which used returns false. It keeps profiles that Ensure created or
// replaced within guardLife.
func (p *Profiles) Sweep(ctx context.Context, used func(name string) bool) error {
	return p.removeAll(ctx, p.path(""), func(name string) bool {
		_, guarded := p.guarded.Get(name)
		return guarded || used(name)
	})
}

func (p *Profiles) removeAll(ctx context.Context, prefix string, keep func(name string) bool) error {
	pages := iam.NewListInstanceProfilesPaginator(p.removal, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(prefix)})
	var errs []error
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("list instance profiles: %w", err))...)
		}
		for _, i := range page.InstanceProfiles {
			name := aws.ToString(i.InstanceProfileName)
			if keep(name) {
				continue
			}
			errs = append(errs, p.remove(ctx, name, rolesOf(&i)))
		}
	}
	return errors.Join(errs...)
}

// remove deletes a profile after removing its roles. A profile or role that does not exist is not an error.
func (p *Profiles) remove(ctx context.Context, name string, roles []string) error {
	p.right.Delete(name)
	for _, r := range roles {
		_, err := p.removal.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: aws.String(name), RoleName: aws.String(r),
		})
		if err != nil && !fault.NotFound(err) {
			return fmt.Errorf("remove role %s from instance profile %s: %w", r, name, err)
		}
	}
	_, err := p.removal.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil && !fault.NotFound(err) {
		return fmt.Errorf("delete instance profile %s: %w", name, err)
	}
	return nil
}
