package launch

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/internal/parallel"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

const (
	// shelfLife is how long a template is assumed to exist after a check. A check costs one call.
	shelfLife = time.Hour
	// idleLife is how long a template is kept after its last launch. Templates cost nothing, but creating one costs a call.
	idleLife = time.Hour
	// atOnce is how many templates are checked or created at the same time.
	atOnce = 8
)

// A Shelf manages the launch templates of a cluster in EC2. It is safe for concurrent use. Its state is a cache that
// can be read from EC2 again.
type Shelf struct {
	api     TemplateAPI
	cluster string
	clock   clock.PassiveClock

	mu    sync.Mutex // guards slots
	slots map[string]*slot
}

// slot is the state of one template.
type slot struct {
	busy chan struct{} // holds a token while a goroutine checks or creates the template
	// sure is when the template was last known to exist, and used is when it was last used. Shelf.mu guards them.
	sure, used time.Time
}

// NewShelf returns a Shelf.
func NewShelf(api TemplateAPI, cluster string, c clock.PassiveClock) *Shelf {
	return &Shelf{api: api, cluster: cluster, clock: c, slots: map[string]*slot{}}
}

// Ensure creates those of the templates that do not exist. A template that was seen less than shelfLife ago counts as
// existing, see Doubt. Checks of the same template wait for each other, others do not.
func (s *Shelf) Ensure(ctx context.Context, templates []Template) error {
	return cmp.Or(parallel.Do(ctx, len(templates), atOnce, func(i int) error { return s.ensure(ctx, templates[i]) })...)
}

func (s *Shelf) slot(name string) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[name] == nil {
		s.slots[name] = &slot{busy: make(chan struct{}, 1)}
	}
	s.slots[name].used = s.clock.Now()
	return s.slots[name]
}

func (s *Shelf) fresh(k *slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !k.sure.IsZero() && s.clock.Since(k.sure) < shelfLife
}

func (s *Shelf) ensure(ctx context.Context, t Template) error {
	k := s.slot(t.Name)
	if s.fresh(k) {
		return nil
	}
	select {
	case k.busy <- struct{}{}:
		defer func() { <-k.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.fresh(k) {
		return nil
	}
	if err := s.find(ctx, t); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.sure = s.clock.Now()
	return nil
}

// find looks for the template in EC2 and creates it if it does not exist.
func (s *Shelf) find(ctx context.Context, t Template) error {
	out, err := s.api.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{t.Name}})
	switch {
	case err == nil && len(out.LaunchTemplates) == 1:
		return nil
	case err == nil && len(out.LaunchTemplates) > 1:
		return fmt.Errorf("describe launch template %s: EC2 returned %d", t.Name, len(out.LaunchTemplates))
	case err != nil && !fault.NotFound(err):
		return fmt.Errorf("describe launch template %s: %w", t.Name, err)
	}
	_, err = s.api.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(t.Name),
		LaunchTemplateData: &t.Data,
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: instances.Tags(t.Tags),
		}},
	})
	if err != nil && fault.Code(err) != "InvalidLaunchTemplateName.AlreadyExistsException" {
		return fmt.Errorf("create launch template %s: %w", t.Name, err)
	}
	return nil
}

// Doubt makes the next Ensure check these templates in EC2 again.
func (s *Shelf) Doubt(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		if k := s.slots[n]; k != nil {
			k.sure = time.Time{}
		}
	}
}

// Sweep deletes the cluster's templates that have not been used for idleLife. A template that this process has not used
// counts as used when Sweep first finds it.
func (s *Shelf) Sweep(ctx context.Context) error {
	names, err := s.list(ctx, "")
	if err != nil {
		return err
	}
	for _, n := range names {
		if !s.idle(n) {
			continue
		}
		if err := s.remove(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// idle reports whether the template has not been used for idleLife. If so, it removes the state of the template. If
// this process has no state of the template yet, the template counts as used now.
func (s *Shelf) idle(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.slots[name]
	if k == nil {
		s.slots[name] = &slot{busy: make(chan struct{}, 1), used: s.clock.Now()}
		return false
	}
	if s.clock.Since(k.used) < idleLife {
		return false
	}
	delete(s.slots, name)
	return true
}

// RemoveOf deletes all templates of a node class.
func (s *Shelf) RemoveOf(ctx context.Context, class string) error {
	names, err := s.list(ctx, class)
	if err != nil {
		return err
	}
	for _, n := range names {
		s.Doubt([]string{n})
		if err := s.remove(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shelf) list(ctx context.Context, class string) ([]string, error) {
	filters := []ec2types.Filter{{Name: aws.String("tag:" + awsv1.TagEKSClusterName), Values: []string{s.cluster}}}
	if class != "" {
		filters = append(filters, ec2types.Filter{Name: aws.String("tag:" + awsv1.TagNodeClass), Values: []string{class}})
	}
	pages := ec2.NewDescribeLaunchTemplatesPaginator(s.api, &ec2.DescribeLaunchTemplatesInput{
		Filters: filters, MaxResults: aws.Int32(200),
	})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list launch templates: %w", err)
		}
		for _, t := range page.LaunchTemplates {
			names = append(names, aws.ToString(t.LaunchTemplateName))
		}
	}
	return names, nil
}

func (s *Shelf) remove(ctx context.Context, name string) error {
	_, err := s.api.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String(name)})
	if err != nil && !fault.NotFound(err) {
		return fmt.Errorf("delete launch template %s: %w", name, err)
	}
	return nil
}
