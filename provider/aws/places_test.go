package aws_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/policy"
)

// anywhere returns a claim without a requirement on the zone.
func (w *world) anywhere(t *testing.T, name string) *apiv1.NodeClaim {
	t.Helper()
	c := w.claim(name)
	c.Spec.Requirements = slices.DeleteFunc(slices.Clone(c.Spec.Requirements), func(r apiv1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == corev1.LabelTopologyZone
	})
	w.store(t, c)
	return c
}

// In an IPv6 cluster, the user data of every Linux family enable IPv6, and nodes join with an IPv6 address.
func TestIPv6Cluster(t *testing.T) {
	w := newWorldOf(t, awsemu.Config{Sells: []string{"m5*", "m6*"}, Cluster: awsemu.Cluster{IPv6: true}})
	p := w.start(t)
	for _, tt := range []struct {
		family string
		change func(*awsv1.EC2NodeClassSpec)
		says   string
	}{
		{"AL2023", func(*awsv1.EC2NodeClassSpec) {}, "cidr: fd30:1c53:5f8a::/108"},
		{"Bottlerocket", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
		}, "cluster-dns-ip = 'fd30:1c53:5f8a::a'"},
		{"AL2", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms, s.AMIFamily = []awsv1.AMISelectorTerm{{Name: "amazon-eks-node-1.32-*"}}, ptr.To("AL2")
		}, "--ip-family ipv6"},
		{"metadata over IPv6, and prefixes", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms, s.AMIFamily = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}, nil
			s.MetadataOptions = &awsv1.MetadataOptions{HTTPProtocolIPv6: ptr.To("enabled"), HTTPTokens: ptr.To("required")}
			s.IPPrefixCount = ptr.To[int32](1)
		}, "fd30:1c53:5f8a::a"},
	} {
		class := w.respec(t, tt.change)
		if !condition.Ready(class) {
			t.Fatalf("%s: the class is %+v", tt.family, class.Status.Conditions)
		}
		c := w.anywhere(t, strings.ToLower(strings.Fields(tt.family)[0]))
		i := create(t, p, c)
		calls := w.calls(t, "CreateLaunchTemplate")
		sent := calls[len(calls)-1].Params
		for key, want := range map[string]string{
			"NetworkInterface.1.PrimaryIpv6": "true", "NetworkInterface.1.Ipv6AddressCount": "1", "NetworkInterface.1.Ipv4PrefixCount": "",
		} {
			if got := sent["LaunchTemplateData."+key]; got != want {
				t.Errorf("%s: %s is %q, want %q", tt.family, key, got, want)
			}
		}
		if class.Spec.IPPrefixCount != nil && (sent["LaunchTemplateData.NetworkInterface.1.Ipv6PrefixCount"] != "1" ||
			sent["LaunchTemplateData.MetadataOptions.HttpProtocolIpv6"] != "enabled") {
			t.Errorf("%s: the template is %v", tt.family, sent)
		}
		l := &shownLaunch{}
		family := strings.Fields(tt.family)[0]
		if class.Spec.IPPrefixCount != nil {
			family = "AL2023"
		}
		l.read(t, w.compute(), sent["LaunchTemplateName"], family)
		if !strings.Contains(l.data[0], tt.says) {
			t.Errorf("%s: user data does not say %q:\n%s", tt.family, tt.says, l.data[0])
		}
		w.joins(t, instanceID(i))
	}
}

// If the DNS service has another name, the service CIDR of EKS determines the IP family.
func TestIPv6WithoutKubeDNS(t *testing.T) {
	w := newWorldOf(t, awsemu.Config{Sells: []string{"m5*"}, Cluster: awsemu.Cluster{IPv6: true}})
	if err := w.kube.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}); err != nil {
		t.Fatal(err)
	}
	p := w.start(t)
	for name, terms := range map[string][]awsv1.AMISelectorTerm{
		"AL2023": {{Alias: "al2023@latest"}}, "AL2": {{Name: "amazon-eks-node-1.32-*"}},
	} {
		w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.AMISelectorTerms, s.AMIFamily = terms, ptr.To(name) })
		w.joins(t, instanceID(create(t, p, w.anywhere(t, strings.ToLower(name)))))
	}
}

// joins boots the machines of the account and checks that the node of an instance exists.
func (w *world) joins(t *testing.T, id string) {
	t.Helper()
	cluster := fake.NewClientset()
	machines := w.emulator.Machines(machine.Config{Client: cluster, BootDelay: -1, AdoptDelay: -1, DeviceDelay: -1})
	for range 4 { // register, be adopted
		machines.Step(t.Context())
	}
	nodes, err := cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if !strings.HasSuffix(n.Spec.ProviderID, id) {
			continue
		}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP && !strings.HasPrefix(a.Address, "2600:") {
				t.Errorf("node %s joins as %s", n.Name, a.Address)
			}
		}
		return
	}
	for _, i := range w.alive(t) {
		t.Logf("%s: %v", i.ID, i.Console)
	}
	t.Errorf("the node of %s does not join", id)
}

// In GovCloud and in China, a class becomes ready, nodes are launched and terminated, interruptions are received and
// prices are known. The policies name only that partition.
func TestPartitions(t *testing.T) {
	for _, tt := range []struct{ region, like, partition string }{
		{"us-gov-west-1", "", "aws-us-gov"},
		{"cn-north-1", "eu-west-1", "aws-cn"},
	} {
		t.Run(tt.region, func(t *testing.T) {
			w := newWorldOf(t, awsemu.Config{Region: tt.region, Like: tt.like, Sells: []string{"m5*", "c5*"}})
			w.afterNew = func() { // dry runs of launches are made
				docs := map[string]string{}
				for _, p := range policy.All(policy.Scope{
					Partition: tt.partition, Region: tt.region, Account: "123456789012", Cluster: clusterName,
					NodeRole: "KarpenterNodeRole-" + clusterName, Queue: clusterName,
				}) {
					text, err := p.Document()
					if err != nil {
						t.Fatal(err)
					}
					docs[p.Name] = string(text)
				}
				w.hold(t, docs)
			}
			p := w.startWith(t, func(c *aws.Config) {
				c.Settings.InterruptionQueue, c.Settings.EnableZonalShift, c.Settings.EKSControlPlane = clusterName, true, true
			})
			if class := w.class(t); !condition.Ready(class) {
				t.Fatalf("the class is %+v", class.Status.Conditions)
			}
			w.respec(t, func(s *awsv1.EC2NodeClassSpec) { // by the parameter's ARN
				s.AMISelectorTerms, s.AMIFamily = []awsv1.AMISelectorTerm{{SSMParameter: "arn:" + tt.partition + ":ssm:" + tt.region +
					"::parameter/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"}}, ptr.To("AL2023")
			})
			if class := w.class(t); !condition.Ready(class) {
				t.Fatalf("by a parameter's ARN the class is %+v", class.Status.Conditions)
			}
			for _, task := range []string{"providers.pricing", "providers.version", "zonalshift"} {
				w.reconcile(t, task, "")
			}
			c := w.anywhere(t, "a")
			i := create(t, p, c)
			w.launched(t, "a", i)
			claim := w.load(t, "a")
			if region := i.Labels[corev1.LabelTopologyRegion]; region != tt.region {
				t.Errorf("the node's region is %q", region)
			}
			if _, err := w.control.Interrupt(t.Context(), control.Interrupt{Instance: instanceID(i)}); err != nil {
				t.Fatal(err)
			}
			w.reconcile(t, "interruption", "")
			for _, offered := range must(p.InstanceTypes(t.Context(), pool()))(t) {
				for _, o := range offered.Offerings {
					if o.Price <= 0 && o.Available {
						t.Errorf("%s in %s has no price", offered.Name, o.Zone)
					}
				}
			}
			for range 3 { // until the instance is terminated
				if p.Delete(t.Context(), claim) != nil {
					return
				}
			}
			t.Error("the instance does not end")
		})
	}
}

// In a VPC without internet access, a class with spec.instanceProfile becomes ready, and nodes are launched and
// terminated. Prices are those of the shipped table. Pricing and IAM are never called.
func TestIsolatedVPC(t *testing.T) {
	w := newWorldOf(t, awsemu.Config{Sells: []string{"m5*"}})
	identity := iam.NewFromConfig(awssdk.Config{
		Region: "us-east-1", BaseEndpoint: awssdk.String(w.url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	must(identity.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: ptr.To("mine")}))(t)
	must(identity.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: ptr.To("mine"), RoleName: ptr.To("KarpenterNodeRole-" + clusterName),
	}))(t)
	class := w.class(t)
	class.Spec.Role, class.Spec.InstanceProfile = "", ptr.To("mine")
	if err := w.kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	before := len(must(w.control.Calls(t.Context(), 0))(t))
	w.afterNew = func() {} // dry runs of launches are made
	p := w.startWith(t, func(c *aws.Config) { c.Settings.IsolatedVPC = true })
	if class := w.class(t); !condition.Ready(class) {
		t.Fatalf("the class is %+v", class.Status.Conditions)
	}
	w.reconcile(t, "providers.pricing", "")
	i := create(t, p, w.anywhere(t, "a"))
	w.launched(t, "a", i)
	w.late(t, "a") // the diagnosis works without IAM
	for _, offered := range must(p.InstanceTypes(t.Context(), pool()))(t) {
		for _, o := range offered.Offerings {
			if o.Available && o.Price <= 0 {
				t.Errorf("%s has no price", offered.Name)
			}
		}
	}
	if err := p.Delete(t.Context(), w.load(t, "a")); err != nil {
		t.Error(err)
	}
	if err := w.kube.Delete(t.Context(), w.load(t, "a")); err != nil {
		t.Fatal(err)
	}
	if err := w.kube.Delete(t.Context(), w.class(t)); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclass", "default")
	for _, c := range must(w.control.Calls(t.Context(), int64(before)))(t) {
		if c.Service == "pricing" || c.Service == "iam" {
			t.Errorf("%s:%s is called", c.Service, c.Action)
		}
	}
	for _, c := range p.Controllers() {
		if c.Name() == "instanceprofile.garbagecollection" {
			t.Error("profiles are swept without IAM")
		}
	}
}

// In GovCloud, the table in the binary lacks prices of some types that EC2 offers. They are launched on demand at an
// estimated price.
func TestTypesWithoutListPrice(t *testing.T) {
	w := newWorldOf(t, awsemu.Config{Region: "us-gov-east-1", Like: "us-east-1", Sells: []string{"m5a.*", "m6a.*"}})
	p := w.startWith(t, func(*aws.Config) {})
	w.class(t)
	w.reconcile(t, "providers.instancetype", "")
	w.reconcile(t, "providers.pricing", "")
	list := map[string]float64{}
	for _, it := range must(p.InstanceTypes(t.Context(), pool()))(t) {
		for _, o := range it.Offerings {
			if o.CapacityType == apiv1.CapacityTypeOnDemand && o.Available {
				list[it.Name] = o.Price
			}
		}
	}
	if list["m6a.large"] <= 0 || list["m6a.large"] != list["m5a.large"] {
		t.Errorf("m6a.large costs %v, m5a.large %v", list["m6a.large"], list["m5a.large"])
	}
}

// must returns the result of a call, and ends the test if the call returns an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// toEmulator sends every request to the emulator, whatever its host is, and records the hosts.
type toEmulator struct {
	at    *url.URL
	mu    sync.Mutex // guards hosts
	hosts map[string]bool
}

func (e *toEmulator) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	e.hosts[r.URL.Host] = true
	e.mu.Unlock()
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = e.at.Scheme, e.at.Host
	return http.DefaultTransport.RoundTrip(r)
}

// The SDK's own settings decide which endpoints are called: those of the region and its partition, FIPS endpoints if
// they are configured, and the nearest endpoint of the Pricing API.
func TestEndpoints(t *testing.T) {
	for _, tt := range []struct {
		region, like string
		fips         bool
		want         []string
	}{
		{"eu-west-1", "", false, []string{
			"api.pricing.eu-central-1.amazonaws.com", "ec2.eu-west-1.amazonaws.com", "eks.eu-west-1.amazonaws.com", "iam.amazonaws.com",
			"sqs.eu-west-1.amazonaws.com", "ssm.eu-west-1.amazonaws.com",
		}},
		{"us-gov-west-1", "", true, []string{ // prices are not read in this region
			"ec2.us-gov-west-1.amazonaws.com", "eks.us-gov-west-1.amazonaws.com", "iam.us-gov.amazonaws.com",
			"sqs.us-gov-west-1.amazonaws.com", "ssm.us-gov-west-1.amazonaws.com",
		}},
		{"us-east-2", "", true, []string{
			"api.pricing-fips.us-east-1.amazonaws.com", "ec2-fips.us-east-2.amazonaws.com", "fips.eks.us-east-2.amazonaws.com", "iam-fips.amazonaws.com",
			"sqs-fips.us-east-2.amazonaws.com", "ssm-fips.us-east-2.amazonaws.com",
		}},
		{"cn-north-1", "eu-west-1", false, []string{
			"api.pricing.cn-northwest-1.amazonaws.com.cn", "ec2.cn-north-1.amazonaws.com.cn", "eks.cn-north-1.amazonaws.com.cn",
			"iam.cn-north-1.amazonaws.com.cn", "sqs.cn-north-1.amazonaws.com.cn", "ssm.cn-north-1.amazonaws.com.cn",
		}},
	} {
		t.Run(tt.region, func(t *testing.T) {
			w := newWorldOf(t, awsemu.Config{Region: tt.region, Like: tt.like, Sells: []string{"m5*"}})
			transport := &toEmulator{hosts: map[string]bool{}, at: must(url.Parse(w.url))(t)}
			load := []func(*awsconfig.LoadOptions) error{awsconfig.WithRegion(tt.region)}
			if tt.fips {
				load = append(load, awsconfig.WithUseFIPSEndpoint(awssdk.FIPSEndpointStateEnabled))
			}
			sdk := must(awsconfig.LoadDefaultConfig(t.Context(), load...))(t)
			sdk.HTTPClient = &http.Client{Transport: transport}
			w.startWith(t, func(c *aws.Config) {
				sdk.Credentials = c.AWS.Credentials
				c.AWS, c.Settings.InterruptionQueue = sdk, clusterName
			})
			w.reconcile(t, "providers.pricing", "")
			i := create(t, w.provider, w.anywhere(t, "a"))
			if w.region == "us-gov-west-1" {
				i = create(t, w.provider, w.anywhere(t, "b"))
			}
			if _, err := w.control.Interrupt(t.Context(), control.Interrupt{Instance: instanceID(i)}); err != nil {
				t.Fatal(err)
			}
			w.reconcile(t, "interruption", "")
			var got []string
			for host := range transport.hosts {
				got = append(got, host)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("called are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}
