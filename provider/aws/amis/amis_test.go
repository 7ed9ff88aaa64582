package amis

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// registry has parameters and images. It applies filters by ids and names, and ignores others.
type registry struct {
	parameters map[string]string
	images     []ec2types.Image
	asked      []string // parameters
	owners     [][]string
}

func (r *registry) GetParameter(
	_ context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options),
) (*ssm.GetParameterOutput, error) {
	r.asked = append(r.asked, *in.Name)
	v, ok := r.parameters[*in.Name]
	if !ok {
		return nil, &ssmtypes.ParameterNotFound{}
	}
	return &ssm.GetParameterOutput{Parameter: &ssmtypes.Parameter{Value: aws.String(v)}}, nil
}

func (r *registry) DescribeImages(
	_ context.Context, in *ec2.DescribeImagesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeImagesOutput, error) {
	r.owners = append(r.owners, in.Owners)
	out := &ec2.DescribeImagesOutput{}
	for _, i := range r.images {
		ok := true
		for _, f := range in.Filters {
			switch *f.Name {
			case "image-id":
				ok = ok && slices.Contains(f.Values, *i.ImageId)
			case "name":
				ok = ok && slices.Contains(f.Values, *i.Name)
			}
		}
		if ok {
			out.Images = append(out.Images, i)
		}
	}
	return out, nil
}

func img(id, name, arch, created, deprecated string) ec2types.Image {
	i := ec2types.Image{
		ImageId: aws.String(id), Name: aws.String(name), Architecture: ec2types.ArchitectureValues(arch), CreationDate: aws.String(created),
	}
	if deprecated != "" {
		i.DeprecationTime = aws.String(deprecated)
	}
	return i
}

func resolver(r *registry) (*Resolver, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	return New(Config{Images: r, Parameters: r, Clock: clock, Refresh: time.Minute}), clock
}

func classWith(terms ...awsv1.AMISelectorTerm) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1}}
	c.Spec.AMISelectorTerms = terms
	return c
}

func TestAlias(t *testing.T) {
	const base = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/"
	r := &registry{
		parameters: map[string]string{
			base + "x86_64/standard/recommended/image_id": "ami-std", base + "arm64/standard/recommended/image_id": "ami-arm",
			base + "x86_64/nvidia/recommended/image_id": "ami-gpu",
		},
		images: []ec2types.Image{
			img("ami-std", "std", "x86_64", "2026-01-01T00:00:00Z", ""), img("ami-arm", "arm", "arm64", "2026-02-01T00:00:00Z", ""),
			img("ami-gpu", "gpu", "x86_64", "2026-01-01T00:00:00Z", ""), img("ami-other", "other", "x86_64", "2027-01-01T00:00:00Z", ""),
		},
	}
	s, clock := resolver(r)
	class := classWith(awsv1.AMISelectorTerm{Alias: "al2023@latest"})
	got, err := s.Resolve(t.Context(), class, "1.36")
	if err != nil {
		t.Fatal(err)
	}
	exists := func(key string, op corev1.NodeSelectorOperator) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: op}
	}
	arch := func(v string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{v}}
	}
	none := corev1.NodeSelectorOpDoesNotExist
	want := []awsv1.AMI{
		{ID: "ami-arm", Name: "arm", Requirements: []corev1.NodeSelectorRequirement{
			arch("arm64"), exists(awsv1.LabelInstanceGPUCount, none), exists(awsv1.LabelInstanceAcceleratorCount, none)}},
		{ID: "ami-gpu", Name: "gpu", Requirements: []corev1.NodeSelectorRequirement{
			arch("amd64"), exists(awsv1.LabelInstanceGPUCount, corev1.NodeSelectorOpExists)}},
		{ID: "ami-std", Name: "std", Requirements: []corev1.NodeSelectorRequirement{
			arch("amd64"), exists(awsv1.LabelInstanceGPUCount, none), exists(awsv1.LabelInstanceAcceleratorCount, none)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(r.asked) != 5 {
		t.Errorf("asked for %d parameters, want 5: %v", len(r.asked), r.asked)
	}
	clock.SetTime(clock.Now().Add(2 * time.Minute)) // images are read again; parameters and missing parameters are not
	if _, err := s.Resolve(t.Context(), class, "1.36"); err != nil || len(r.asked) != 5 || len(r.owners) != 2 {
		t.Errorf("a minute later: %d parameters, %d calls, %v", len(r.asked), len(r.owners), err)
	}
	class.Status.AMIs = got
	for id, labels := range map[string]map[string]string{
		"ami-std": {corev1.LabelArchStable: "amd64"}, "ami-arm": {corev1.LabelArchStable: "arm64"},
		"ami-gpu": {corev1.LabelArchStable: "amd64", awsv1.LabelInstanceGPUCount: "1"},
		"":        {corev1.LabelArchStable: "arm64", awsv1.LabelInstanceGPUCount: "1"},
	} {
		if a, _ := For(class, Labels{require.FromLabels(labels)}); a.ID != id {
			t.Errorf("a node with %v gets %q, want %q", labels, a.ID, id)
		}
	}
}

func TestPaths(t *testing.T) {
	for alias, want := range map[string]string{
		"al2@latest":         "/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/image_id",
		"al2@v1":             "/aws/service/eks/optimized-ami/1.30/amazon-linux-2-gpu/amazon-eks-gpu-node-1.30-v1/image_id",
		"al2023@v20260101":   "/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/arm64/nvidia/amazon-eks-node-al2023-arm64-nvidia-1.30-v20260101/image_id",
		"bottlerocket@v1.46": "/aws/service/bottlerocket/aws-k8s-1.30-nvidia/x86_64/1.46/image_id",
		"windows2022@latest": "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.30/image_id",
	} {
		r := &registry{}
		s, _ := resolver(r)
		if got, err := s.Resolve(t.Context(), classWith(awsv1.AMISelectorTerm{Alias: alias}), "1.30"); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", alias, got, err)
		}
		if !slices.Contains(r.asked, want) {
			t.Errorf("%s: asked\n%s\nwant among them\n%s", alias, strings.Join(r.asked, "\n"), want)
		}
	}
}

func TestWindows(t *testing.T) {
	r := &registry{
		parameters: map[string]string{"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id": "ami-win"},
		images:     []ec2types.Image{img("ami-win", "win", "x86_64", "2026-01-01T00:00:00Z", "")},
	}
	s, _ := resolver(r)
	got, err := s.Resolve(t.Context(), classWith(awsv1.AMISelectorTerm{Alias: "windows2022@latest"}), "1.36")
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	labels := map[string]string{corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "windows", corev1.LabelWindowsBuild: "10.0.20348"}
	if !(Labels{require.FromLabels(labels)}).Suit(got[0].Requirements) {
		t.Errorf("a node with %v does not suit %v", labels, got[0].Requirements)
	}
}

func TestTerms(t *testing.T) {
	images := []ec2types.Image{
		img("ami-1", "one", "x86_64", "2026-01-01T00:00:00Z", ""), img("ami-2", "two", "x86_64", "2026-02-01T00:00:00Z", ""),
		img("ami-3", "three", "x86_64", "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z"), // newest, but deprecated
		img("ami-4", "four", "arm64", "2026-01-01T00:00:00Z", "2026-05-01T00:00:00Z"),
		img("ami-5", "five", "i386", "2026-01-01T00:00:00Z", ""),
	}
	for _, tt := range []struct {
		name   string
		terms  []awsv1.AMISelectorTerm
		want   string
		owners []string // of the first call
	}{
		{"by tags: the newest that is not deprecated, for each architecture",
			[]awsv1.AMISelectorTerm{{Tags: map[string]string{"a": "b"}}}, "ami-2 ami-4(deprecated)", nil},
		{"by id", []awsv1.AMISelectorTerm{{ID: "ami-1"}}, "ami-1", nil},
		{"by ids: still one for each architecture", []awsv1.AMISelectorTerm{{ID: "ami-1"}, {ID: "ami-2"}}, "ami-2", nil},
		{"by name: ours and Amazon's", []awsv1.AMISelectorTerm{{Name: "one"}}, "ami-1", []string{"self", "amazon"}},
		{"by name and owner", []awsv1.AMISelectorTerm{{Name: "one", Owner: "123456789012"}}, "ami-1", []string{"123456789012"}},
		{"by parameter", []awsv1.AMISelectorTerm{{SSMParameter: "/mine"}}, "ami-2", nil},
		{"by parameters that hold none", []awsv1.AMISelectorTerm{{SSMParameter: "/text"}, {SSMParameter: "/missing"}, {ID: "ami-1"}}, "ami-1", nil},
		{"nothing matches", []awsv1.AMISelectorTerm{{Name: "six"}}, "", []string{"self", "amazon"}},
	} {
		r := &registry{images: images, parameters: map[string]string{"/mine": "ami-2", "/text": "hello"}}
		s, _ := resolver(r)
		got, err := s.Resolve(t.Context(), classWith(tt.terms...), "1.36")
		var words []string
		for _, a := range got {
			if a.Deprecated {
				a.ID += "(deprecated)"
			}
			words = append(words, a.ID)
		}
		if strings.Join(words, " ") != tt.want || err != nil {
			t.Errorf("%s: %v, %v; want %s", tt.name, words, err, tt.want)
		}
		if !slices.Equal(r.owners[0], tt.owners) {
			t.Errorf("%s: asked for owners %v, want %v", tt.name, r.owners[0], tt.owners)
		}
	}
}

func TestUnsupported(t *testing.T) {
	for _, tt := range []struct {
		family string
		minor  int
		want   bool
	}{
		{awsv1.AMIFamilyAL2, 32, false}, {awsv1.AMIFamilyAL2, 33, true},
		{awsv1.AMIFamilyWindows2025, 34, true}, {awsv1.AMIFamilyWindows2025, 35, false}, {awsv1.AMIFamilyAL2023, 40, false},
	} {
		if why := Unsupported(tt.family, tt.minor); (why != "") != tt.want {
			t.Errorf("%s on 1.%d: %q", tt.family, tt.minor, why)
		}
	}
}

func TestMinor(t *testing.T) {
	for text, want := range map[string]int{"1.36": 36, "v1.30.4": 30, "1.29+": 29} {
		if got, err := Minor(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "1.x"} {
		if _, err := Minor(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// If the cached image of an alias is deprecated or no longer exists, the parameter of the alias is read again.
func TestDeprecatedAliasIsLookedUpAgain(t *testing.T) {
	const path = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
	r := &registry{parameters: map[string]string{path: "ami-old"}, images: []ec2types.Image{
		img("ami-old", "old", "x86_64", "2026-01-01T00:00:00Z", "2026-06-01T00:01:30Z"), img("ami-new", "new", "x86_64", "2026-05-01T00:00:00Z", ""),
	}}
	s, clock := resolver(r)
	class := classWith(awsv1.AMISelectorTerm{Alias: "al2023@latest"})
	resolve := func() string {
		t.Helper()
		clock.SetTime(clock.Now().Add(time.Minute))
		got, err := s.Resolve(t.Context(), class, "1.36")
		if err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		return got[0].ID
	}
	if id := resolve(); id != "ami-old" {
		t.Errorf("at first: %s", id)
	}
	r.parameters[path] = "ami-new"
	if id := resolve(); id != "ami-old" { // the image is deprecated from now on, which this call detects
		t.Errorf("while it is remembered: %s", id)
	}
	if id := resolve(); id != "ami-new" {
		t.Errorf("once it is deprecated: %s", id)
	}
}

// The parameter of an alias with a version is read once a day, that of the version latest every hour.
func TestLatestIsLookedUpEveryHour(t *testing.T) {
	const base = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/"
	r := &registry{
		parameters: map[string]string{
			base + "recommended/image_id": "ami-old", base + "amazon-eks-node-al2023-x86_64-standard-1.36-v20260101/image_id": "ami-old",
		},
		images: []ec2types.Image{
			img("ami-old", "old", "x86_64", "2026-01-01T00:00:00Z", ""), img("ami-new", "new", "x86_64", "2026-05-01T00:00:00Z", ""),
		},
	}
	s, clock := resolver(r)
	classes := map[string]*awsv1.EC2NodeClass{}
	for _, version := range []string{"latest", "v20260101"} {
		classes[version] = classWith(awsv1.AMISelectorTerm{Alias: "al2023@" + version})
		classes[version].UID = types.UID(version)
	}
	want := func(version, id string) {
		t.Helper()
		got, err := s.Resolve(t.Context(), classes[version], "1.36")
		if err != nil || len(got) != 1 || got[0].ID != id {
			t.Errorf("%s is %v, %v; want %s", version, got, err, id)
		}
	}
	want("latest", "ami-old")
	want("v20260101", "ami-old")
	for path := range r.parameters {
		r.parameters[path] = "ami-new"
	}
	clock.SetTime(clock.Now().Add(59 * time.Minute))
	want("latest", "ami-old")
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	want("latest", "ami-new")
	want("v20260101", "ami-old")
}
