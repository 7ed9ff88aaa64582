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

// TemplateAPI is the part of EC2 that manages launch templates.
type TemplateAPI interface {
	DescribeLaunchTemplates(context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error)
	CreateLaunchTemplate(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error)
	DeleteLaunchTemplate(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error)
}

var _ TemplateAPI = (*ec2.Client)(nil)

const (
	// templateCheckLife is how long a template counts as existing after EC2 has returned it. A check costs one call.
	templateCheckLife = time.Hour
	// templateIdleLife is how long a template is kept after its last launch. Templates cost nothing, but creating one costs a call.
	templateIdleLife = time.Hour
	// parallelTemplates is how many templates are checked or created at the same time.
	parallelTemplates = 8
)

// A TemplateStore creates and deletes the launch templates of a cluster in EC2. It caches which of them exist. The cache can be
// read from EC2 again. A TemplateStore is safe for concurrent use.
type TemplateStore struct {
	api     TemplateAPI
	cluster string
	clock   clock.PassiveClock

	mu      sync.Mutex // guards entries
	entries map[string]*templateEntry
}

// A templateEntry is what the cache has of one template. TemplateStore.mu guards its times.
type templateEntry struct {
	busy chan struct{} // has an element while a goroutine checks or creates the template
	seen time.Time     // when EC2 last had the template, zero if that is not known
	used time.Time     // when the template was last needed for a launch
}

// NewTemplateStore returns a TemplateStore with an empty cache.
func NewTemplateStore(api TemplateAPI, cluster string, c clock.PassiveClock) *TemplateStore {
	return &TemplateStore{api: api, cluster: cluster, clock: c, entries: map[string]*templateEntry{}}
}

// Ensure creates those of the templates that do not exist. A template that EC2 returned less than templateCheckLife ago counts as
// existing, unless it was invalidated. Checks of the same template wait for each other, others do not.
func (s *TemplateStore) Ensure(ctx context.Context, templates []Template) error {
	return cmp.Or(parallel.Do(ctx, len(templates), parallelTemplates, func(i int) error { return s.ensure(ctx, templates[i]) })...)
}

func (s *TemplateStore) ensure(ctx context.Context, t Template) error {
	e := s.use(t.Name)
	if s.exists(e) {
		return nil
	}
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.exists(e) { // another goroutine has checked it in the meantime
		return nil
	}
	if err := s.findOrCreate(ctx, t); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.seen = s.clock.Now()
	return nil
}

// use returns the entry of the template, which counts as used now. It adds the entry if there is none.
func (s *TemplateStore) use(name string) *templateEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[name] == nil {
		s.entries[name] = &templateEntry{busy: make(chan struct{}, 1)}
	}
	s.entries[name].used = s.clock.Now()
	return s.entries[name]
}

// exists reports whether the template counts as existing.
func (s *TemplateStore) exists(e *templateEntry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !e.seen.IsZero() && s.clock.Since(e.seen) < templateCheckLife
}

// findOrCreate looks for the template in EC2 and creates it if it does not exist.
func (s *TemplateStore) findOrCreate(ctx context.Context, t Template) error {
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

// Invalidate makes the next Ensure check these templates in EC2 again.
func (s *TemplateStore) Invalidate(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		if e := s.entries[n]; e != nil {
			e.seen = time.Time{}
		}
	}
}

// Sweep deletes the cluster's templates that have not been used for templateIdleLife. A template that this process has not used
// counts as used when Sweep first finds it.
func (s *TemplateStore) Sweep(ctx context.Context) error {
	names, err := s.list(ctx, "")
	if err != nil {
		return err
	}
	for _, n := range names {
		if !s.dropIdle(n) {
			continue
		}
		if err := s.delete(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// dropIdle removes the entry of the template if it has not been used for templateIdleLife, and reports whether it did. If there is
// no entry, it adds one, and the template counts as used now.
func (s *TemplateStore) dropIdle(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil {
		s.entries[name] = &templateEntry{busy: make(chan struct{}, 1), used: s.clock.Now()}
		return false
	}
	if s.clock.Since(e.used) < templateIdleLife {
		return false
	}
	delete(s.entries, name)
	return true
}

// RemoveOf deletes all templates of a node class.
func (s *TemplateStore) RemoveOf(ctx context.Context, class string) error {
	names, err := s.list(ctx, class)
	if err != nil {
		return err
	}
	for _, n := range names {
		s.Invalidate(n)
		if err := s.delete(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// list returns the names of the cluster's templates in EC2: those of the node class, or all if class is empty.
func (s *TemplateStore) list(ctx context.Context, class string) ([]string, error) {
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

func (s *TemplateStore) delete(ctx context.Context, name string) error {
	_, err := s.api.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String(name)})
	if err != nil && !fault.NotFound(err) {
		return fmt.Errorf("delete launch template %s: %w", name, err)
	}
	return nil
}
