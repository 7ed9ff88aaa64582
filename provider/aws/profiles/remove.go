package profiles

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// RemoveOf deletes all profiles that were made for the class.
func (p *Profiles) RemoveOf(ctx context.Context, class *awsv1.EC2NodeClass) error {
	return p.removeAll(ctx, p.path(string(class.UID)), func(string) bool { return false })
}

// Sweep deletes the cluster's profiles for which used does not hold, but for those that were new or replaced within the
// hour.
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
			var roles []string
			for _, r := range i.Roles {
				roles = append(roles, aws.ToString(r.RoleName))
			}
			errs = append(errs, p.remove(ctx, name, roles))
		}
	}
	return errors.Join(errs...)
}

// remove deletes a profile, its roles first. What is gone already is fine.
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
