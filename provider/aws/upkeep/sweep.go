package upkeep

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// sweepEvery is the interval at which unused resources are deleted.
const sweepEvery = 30 * time.Minute

// ProfileSweeper deletes instance profiles for which used returns false.
type ProfileSweeper interface {
	Sweep(ctx context.Context, used func(name string) bool) error
}

// SweepProfiles returns the task that deletes instance profiles that no class and no claim uses.
func SweepProfiles(reader client.Reader, p ProfileSweeper) periodic.Task {
	return periodic.Task{Label: "instanceprofile.garbagecollection", Run: func(ctx context.Context) (time.Duration, error) {
		used := map[string]bool{}
		var classes awsv1.EC2NodeClassList
		if err := reader.List(ctx, &classes); err != nil {
			return 0, fmt.Errorf("list node classes: %w", err)
		}
		for i := range classes.Items {
			used[classes.Items[i].Status.InstanceProfile] = true
		}
		var claims apiv1.NodeClaimList
		if err := reader.List(ctx, &claims); err != nil {
			return 0, fmt.Errorf("list claims: %w", err)
		}
		for i := range claims.Items {
			used[claims.Items[i].Annotations[awsv1.AnnotationInstanceProfile]] = true
		}
		return sweepEvery, p.Sweep(ctx, func(name string) bool { return used[name] })
	}}
}

// TemplateSweeper deletes launch templates that have not been used for a while.
type TemplateSweeper interface {
	Sweep(ctx context.Context) error
}

// SweepTemplates returns the task that deletes unused launch templates.
func SweepTemplates(t TemplateSweeper) periodic.Task {
	return periodic.Task{Label: "launchtemplate.garbagecollection", Run: func(ctx context.Context) (time.Duration, error) {
		return sweepEvery, t.Sweep(ctx)
	}}
}
