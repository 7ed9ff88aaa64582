package aws_test

import (
	"encoding/base64"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

// Manifests as published in documentation, workshops and blueprints are accepted and become ready. They launch the
// nodes that a reader would expect.
//
// A file of testdata/published has a description, a section manifests.yaml with classes, pools and a workload, and a
// section expect with one fact on each line. The optional section account has the resources that exist before. The
// facts are written by hand: they are what a reader expects, not a recorded result.
func TestPublishedManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/published/*.txtar")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	w := newWorldSelling(t)
	w.afterNew = func() {} // dry runs of launches are made
	p := w.start(t)
	places := w.places(t)
	var seen int64
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &shown{world: w, provider: p, launches: map[string]*shownLaunch{}, seen: seen}
			for _, line := range lines(section(ar, "account")) {
				s.prepare(t, strings.Fields(line))
			}
			s.apply(t, places.Replace(section(ar, "manifests.yaml")))
			seen = s.seen
			expected := lines(section(ar, "expect"))
			if len(expected) == 0 {
				t.Fatal("nothing is expected")
			}
			for _, line := range expected {
				if err := s.check(strings.Fields(line)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		})
	}
}

// section returns the text of a section, "" if there is none.
func section(ar *txtar.Archive, name string) string {
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// lines returns the lines of text that are not blank.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// compute is a fake of the EC2 client.
func (w *world) compute() *ec2.Client {
	return ec2.NewFromConfig(awssdk.Config{
		Region: "us-east-1", BaseEndpoint: awssdk.String(w.url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

// places replaces the ids in manifests by ids of the account.
func (w *world) places(t *testing.T) *strings.Replacer {
	t.Helper()
	subnets, err := w.compute().DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("tag-key"), Values: []string{"karpenter.sh/discovery"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := w.compute().DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("group-name"), Values: []string{clusterName + "-node"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	images, err := w.compute().DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"amazon-eks-node-al2023-*-standard-1.36-v20261029"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	replace := []string{"$CLUSTER", clusterName, "$GROUP", *groups.SecurityGroups[0].GroupId}
	for _, s := range subnets.Subnets {
		replace = append(replace, "$SUBNET_"+strings.ToUpper((*s.AvailabilityZone)[len("us-east-1"):]), *s.SubnetId)
	}
	for _, i := range images.Images {
		replace = append(replace, "$IMAGE_"+strings.ToUpper(string(i.Architecture)), *i.ImageId)
	}
	return strings.NewReplacer(replace...)
}

// shown is the result of one file.
type shown struct {
	*world
	provider *aws.Provider
	// launches are the first launch of each pool, by its name.
	launches map[string]*shownLaunch
	// planned is how many nodes were planned, by pool.
	planned map[string]int
	// seen is the number of the last call that was checked.
	seen int64
	// instances are all instances of the account.
	instances []control.Instance
}

// A shownLaunch is the API calls for one node, and their result.
type shownLaunch struct {
	instance *cloud.Instance
	fleet    map[string]string
	// types are those that the fleet may choose from.
	types []string
	// templates are the parameters of the launch templates of the fleet.
	templates []map[string]string
	// data has the user data of each template, and boots the settings that the operating system reads from it. boots is
	// empty for custom images.
	data  []string
	boots []machine.Bootstrap
}

// prepare creates resources that the manifests require: "reserve TYPE ZONE COUNT KEY=VALUE", "group NAME STRATEGY".
func (s *shown) prepare(t *testing.T, words []string) {
	t.Helper()
	var err error
	switch words[0] {
	case "reserve":
		key, value, _ := strings.Cut(words[4], "=")
		var count int
		if _, err = fmt.Sscan(words[3], &count); err == nil {
			_, err = s.control.Reserve(t.Context(), control.Reservation{
				Type: words[1], Zone: words[2], Count: count, Targeted: true, Tags: map[string]string{key: value},
			})
		}
	case "group":
		_, err = s.control.Place(t.Context(), control.Placement{Name: words[1], Strategy: words[2]})
	default:
		t.Fatalf("the test has no implementation of %q", words[0])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// apply stores classes and pools as the API server would, waits for the classes, plans the workload, and launches the first
// node of each pool.
func (s *shown) apply(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Read(t.Context(), []string{file}, manifest.Options{})
	if err != nil {
		t.Fatalf("they do not apply: %v", err)
	}
	families := map[string]string{}
	for _, class := range manifest.Of[*awsv1.EC2NodeClass](set) {
		families[class.Name] = catalog.FamilyOf(class).Name
		s.makeReady(t, class)
	}
	c, err := offline.Assemble(set, offline.Shipped("us-east-1"), time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Delta.Pools {
		if c.Delta.Types[p.Name], err = s.provider.InstanceTypes(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	run := c.Decide(pack.Options{}, 1, time.Now)
	if run.Placed() == 0 || run.Placed() < run.Pending() {
		t.Errorf("%d of %d pods are placed: %v", run.Placed(), run.Pending(), run.Plan)
	}
	s.planned = map[string]int{}
	for i := range run.Plan.Nodes {
		n := &run.Plan.Nodes[i]
		if s.planned[n.Pool.Name]++; s.planned[n.Pool.Name] > 1 {
			continue
		}
		claim := act.ClaimFor(n, c.Labels)
		claim.GenerateName, claim.Name = "", fmt.Sprintf("%s-%d", n.Pool.Name, s.uids)
		s.store(t, claim)
		s.launches[n.Pool.Name] = s.launch(t, claim, families[claim.Spec.NodeClassRef.Name])
	}
	s.instances = s.alive(t)
}

// makeReady stores a class and reconciles it until it is ready.
func (s *shown) makeReady(t *testing.T, class *awsv1.EC2NodeClass) {
	t.Helper()
	class.UID, class.Generation = types.UID("uid-"+class.Name), 1 // the API server does that
	if err := client.IgnoreAlreadyExists(s.kube.Create(t.Context(), class)); err != nil {
		t.Fatal(err)
	}
	s.reconcile(t, "nodeclass.hash", class.Name)
	s.reconcile(t, "nodeclass", class.Name)
	if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
		t.Fatal(err)
	}
	if !condition.Ready(class) {
		t.Fatalf("class %s is not ready: %+v", class.Name, class.Status.Conditions)
	}
}

func (s *shown) launch(t *testing.T, claim *apiv1.NodeClaim, family string) *shownLaunch {
	t.Helper()
	l := &shownLaunch{instance: create(t, s.provider, claim)}
	calls, err := s.control.Calls(t.Context(), s.seen)
	if err != nil || len(calls) == 0 {
		t.Fatal(err)
	}
	s.seen = calls[len(calls)-1].Seq
	fleets := slices.Collect(actions(calls, "CreateFleet"))
	if len(fleets) != 1 {
		t.Fatalf("%d fleets for one node", len(fleets))
	}
	l.fleet = fleets[0]
	named := map[string]bool{}
	for key, value := range l.fleet {
		if strings.HasSuffix(key, ".InstanceType") && !slices.Contains(l.types, value) {
			l.types = append(l.types, value)
		}
		if strings.HasSuffix(key, ".LaunchTemplateName") {
			named[value] = true
		}
	}
	slices.Sort(l.types)
	for params := range actions(calls, "CreateLaunchTemplate") {
		if named[params["LaunchTemplateName"]] {
			l.templates = append(l.templates, params)
		}
	}
	if len(l.templates) != len(named) {
		t.Fatalf("%d templates were made, the fleet has %d", len(l.templates), len(named))
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		l.read(t, s.compute(), name, family)
	}
	return l
}

// actions yields the parameters of the calls of one action, without dry runs.
func actions(calls []control.Call, action string) iter.Seq[map[string]string] {
	return func(yield func(map[string]string) bool) {
		for _, c := range calls {
			if c.Action == action && c.Params["DryRun"] != "true" && !yield(c.Params) {
				return
			}
		}
	}
}

// read reads the user data of a launch template as the operating system does.
func (l *shownLaunch) read(t *testing.T, compute *ec2.Client, template, family string) {
	t.Helper()
	out, err := compute.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: &template})
	if err != nil {
		t.Fatal(err)
	}
	encoded := awssdk.ToString(out.LaunchTemplateVersions[0].LaunchTemplateData.UserData)
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	l.data = append(l.data, string(text))
	if family == awsv1.AMIFamilyCustom {
		return
	}
	if strings.HasPrefix(family, "Windows") {
		family = "Windows"
	}
	b, err := machine.Decode(family, encoded)
	if err != nil {
		t.Fatalf("the node does not understand its user data: %v\n%s", err, text)
	}
	if b.Cluster != clusterName {
		t.Errorf("the node joins cluster %q", b.Cluster)
	}
	if !slices.ContainsFunc(b.Taints, func(taint corev1.Taint) bool { return taint.Key == apiv1.UnregisteredTaintKey }) {
		t.Errorf("the node comes with taints %v", b.Taints)
	}
	l.boots = append(l.boots, b)
}
