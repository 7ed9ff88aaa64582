package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"k8s.io/client-go/kubernetes"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
)

const (
	region      = "us-east-1"
	clusterName = "sim"
	endpoint    = "https://api.sim:6443"
)

// sells are patterns of the instance types that the emulated EC2 offers in each simulation. With few types, simulations are
// fast.
var sells = []string{"m5.*", "c5.*", "r5.*", "m6g.*", "t3.*"}

// awsURL is the URL of the emulated services of AWS.
const awsURL = "http://aws.sim"

// An account is the emulated AWS account. It also has instances that do not belong to the operator.
type account struct {
	emulator *awsemu.Emulator
	// aws is for clients whose calls are carried out immediately and without faults. ec2 is one of them.
	aws    awssdk.Config
	ec2    *ec2.Client
	driver *Driver
	// strangers are the ids of the instances that do not belong to the operator.
	strangers []string
	// noticed[id] is when the cloud sent a notice that it will end the instance with that id.
	noticed map[string]time.Time
	// advised has the ids of instances that the cloud reported as unhealthy, or recommended to replace.
	advised map[string]bool
	// priced is when a price last changed.
	priced time.Time
	// reservations are the capacity reservations that have not been cancelled, in the order in which they were made. cancelled is when
	// one was last cancelled.
	reservations []reservation
	cancelled    time.Time
}

// A reservation is capacity for a number of instances, since a time.
type reservation struct {
	id    string
	total int
	since time.Time
}

// newAccount makes the account and the machines of its instances.
func newAccount(w *World) (*account, error) {
	a := &account{driver: w.driver, noticed: map[string]time.Time{}, advised: map[string]bool{}}
	var err error
	a.emulator, err = awsemu.New(awsemu.Config{
		Seed: w.scenario.Seed, Region: region, Sells: slices.Concat(sells, w.scenario.Types), Queue: clusterName,
		Cluster: awsemu.Cluster{Name: clusterName, Endpoint: endpoint, CA: "Q0E=", IPv6: w.scenario.IPv6},
		Roles:   []string{"KarpenterNodeRole-sim", "KarpenterNodeRole-second"},
	})
	if err != nil {
		return nil, fmt.Errorf("make account: %w", err)
	}
	client, err := kubernetes.NewForConfig(w.platform.server.RestConfig(nil))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	w.platform.add(&machines{emulator: a.emulator, runner: a.emulator.Machines(machine.Config{Client: client})})
	a.aws = awssdk.Config{
		Region: region, BaseEndpoint: awssdk.String(awsURL), HTTPClient: &http.Client{Transport: inProcess{a.emulator}},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
	a.ec2 = ec2.NewFromConfig(a.aws)
	return a, a.placeStrangers()
}

// machines boots the instances of the account.
type machines struct {
	emulator *awsemu.Emulator
	runner   *machine.Runner
}

func (m *machines) Name() string { return "machines" }

func (m *machines) Step(time.Time) (time.Time, error) {
	next := m.runner.Step(context.Background())
	if due := m.emulator.Settle(); !due.IsZero() && (next.IsZero() || due.Before(next)) {
		next = due
	}
	return next, nil
}

// strangeProfiles is the path of the instance profiles of a cluster whose name begins with that of this one.
const strangeProfiles = "/karpenter/" + region + "/" + clusterName + "-2/"

// placeStrangers launches instances that do not belong to the operator: one without tags, and one of another cluster. It also makes an
// instance profile of another cluster.
func (a *account) placeStrangers() error {
	ctx := context.Background()
	_, err := iam.NewFromConfig(a.aws).CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: awssdk.String(clusterName + "-2_other"), Path: awssdk.String(strangeProfiles + "other/"),
	})
	if err != nil {
		return fmt.Errorf("make an instance profile that is not the operator's: %w", err)
	}
	images, err := a.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: []ec2types.Filter{{Name: awssdk.String("architecture"), Values: []string{"x86_64"}}},
	})
	if err != nil || len(images.Images) == 0 {
		return fmt.Errorf("list images: %d found, %w", len(images.Images), err)
	}
	subnets, err := a.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("availability-zone"), Values: []string{"us-east-1a"}}},
	})
	if err != nil || len(subnets.Subnets) == 0 {
		return fmt.Errorf("list subnets: %d found, %w", len(subnets.Subnets), err)
	}
	for _, tags := range [][]ec2types.Tag{nil, {
		{Key: awssdk.String("karpenter.sh/nodepool"), Value: awssdk.String("default")},
		{Key: awssdk.String("karpenter.sh/nodeclaim"), Value: awssdk.String("default-other")},
		{Key: awssdk.String("eks:eks-cluster-name"), Value: awssdk.String("other")},
		{Key: awssdk.String("kubernetes.io/cluster/other"), Value: awssdk.String("owned")},
	}} {
		in := &ec2.RunInstancesInput{
			ImageId: images.Images[0].ImageId, InstanceType: "m5.large", MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
			SubnetId: subnets.Subnets[0].SubnetId,
		}
		if tags != nil {
			in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: tags}}
		}
		out, err := a.ec2.RunInstances(ctx, in)
		if err != nil {
			return fmt.Errorf("launch an instance that is not the operator's: %w", err)
		}
		a.strangers = append(a.strangers, awssdk.ToString(out.Instances[0].InstanceId))
	}
	return nil
}

// instances returns the instances that belong to the operator and that EC2 still lists, by id. Some may be stopped, shutting down
// or terminated (see alive and exists).
func (a *account) instances() map[string]control.Instance {
	out := map[string]control.Instance{}
	for _, i := range a.emulator.Instances() {
		if !slices.Contains(a.strangers, i.ID) {
			out[i.ID] = i
		}
	}
	return out
}

// templates returns the number of launch templates.
func (a *account) templates() int {
	out, err := a.ec2.DescribeLaunchTemplates(context.Background(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		panic(err) // in memory: it cannot fail
	}
	return len(out.LaunchTemplates)
}

// profiles returns the instance profiles of the cluster.
func (a *account) profiles() []iamtypes.InstanceProfile {
	out, err := iam.NewFromConfig(a.aws).ListInstanceProfiles(context.Background(), &iam.ListInstanceProfilesInput{})
	if err != nil {
		panic(err) // in memory: it cannot fail
	}
	return slices.DeleteFunc(out.InstanceProfiles, func(p iamtypes.InstanceProfile) bool {
		return strings.HasPrefix(awssdk.ToString(p.Path), strangeProfiles)
	})
}

// endsSoon reports whether EC2 will end an instance within eleven minutes, because its capacity block ends. The operator drains it ten
// minutes before.
func (a *account) endsSoon(id string) bool {
	i, ok := a.emulator.Instance(id)
	return ok && !i.EndsAt.IsZero() && time.Until(i.EndsAt) < 11*time.Minute
}

// alive reports whether the state of an instance is pending or running.
func alive(i control.Instance) bool { return i.State == "pending" || i.State == "running" }

// exists reports whether an instance is alive, stopping or stopped. Its volumes are paid for.
func exists(i control.Instance) bool {
	return alive(i) || i.State == "stopping" || i.State == "stopped"
}

// control returns a client of the emulator's control interface. Its calls are carried out immediately and without faults.
func (a *account) control() control.Client {
	return control.Client{BaseURL: awsURL, HTTP: &http.Client{Transport: inProcess{a.emulator}}}
}

// inProcess is an HTTP transport that calls a handler in the caller's goroutine.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	t.handler.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

func (a *account) throttle(e Event) error {
	rate, err := strconv.ParseFloat(e.Args[1], 64)
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	ctx := context.Background()
	a.driver.After(e.For, func() { _ = a.control().ClearFaults(ctx, e.Args[0]) }) // in memory: it cannot fail
	return a.control().SetThrottle(ctx, control.Throttle{Op: e.Args[0], Rate: rate})
}

// lagged returns a verb that sets a lag of the answers of EC2 for some time.
func lagged(of func(control.Duration) control.Lag) func(*account, Event) error {
	return func(a *account, e Event) error {
		d, err := e.duration(0)
		if err != nil {
			return err
		}
		ctx := context.Background()
		a.driver.After(e.For, func() { _ = a.control().SetLag(ctx, control.Lag{}) }) // in memory: it cannot fail
		return a.control().SetLag(ctx, of(control.Duration(d)))
	}
}

// lateDescriptions and lateTags are lags of whole instances, and of their tags only.
var (
	lateDescriptions = lagged(func(d control.Duration) control.Lag { return control.Lag{For: d} })
	lateTags         = lagged(func(d control.Duration) control.Lag { return control.Lag{Tags: d} })
)

// poolOf reads TYPE/ZONE/CAPACITY, of which each part may be missing.
func poolOf(text string) control.Pool {
	parts := append(strings.Split(text, "/"), "", "")
	return control.Pool{Type: parts[0], Zone: parts[1], Capacity: parts[2]}
}

func (a *account) noCapacity(e Event) error {
	pool := poolOf(e.Args[0])
	a.driver.After(e.For, func() { a.emulator.ClearCapacity(pool) })
	a.emulator.ICE(pool)
	return nil
}

func (a *account) quota(e Event) error {
	n, err := e.number(1)
	if err != nil {
		return err
	}
	ctx := context.Background()
	a.driver.After(e.For, func() { _ = a.control().SetQuota(ctx, control.Quota{Capacity: e.Args[0], VCPUs: -1}) }) // in memory
	return a.control().SetQuota(ctx, control.Quota{Capacity: e.Args[0], VCPUs: n})
}

func (a *account) bootSlow(e Event) error {
	d, err := e.duration(0)
	if err != nil {
		return err
	}
	a.driver.After(e.For, a.emulator.ClearBoot)
	a.emulator.SetBoot(control.Boot{Delay: control.Duration(d)})
	return nil
}

func (a *account) bootNever(e Event) error {
	a.driver.After(e.For, a.emulator.ClearBoot)
	a.emulator.SetBoot(control.Boot{Type: e.Args[0], Never: true})
	return nil
}

// interrupt reclaims random spot instances.
func (a *account) interrupt(e Event) error {
	n, err := e.number(0)
	if err != nil {
		return err
	}
	ids, err := a.emulator.Interrupt(control.Interrupt{Random: n})
	for _, id := range ids {
		a.noticed[id] = time.Now()
	}
	return err
}

// stormLength is for how long a zone has no spot capacity after a spot storm.
const stormLength = 30 * time.Minute

// spotStorm reclaims all spot instances of a zone and leaves no spot capacity there for stormLength.
func (a *account) spotStorm(e Event) error {
	if err := a.reclaim(e, func(i control.Instance) bool { return i.Zone == e.Args[0] }); err != nil {
		return err
	}
	pool := control.Pool{Zone: e.Args[0], Capacity: apiv1.CapacityTypeSpot}
	a.emulator.ICE(pool)
	a.driver.After(stormLength, func() { a.emulator.ClearCapacity(pool) })
	return nil
}

// reclaimType reclaims all spot instances of a type, in any zone.
func (a *account) reclaimType(e Event) error {
	return a.reclaim(e, func(i control.Instance) bool { return i.Type == e.Args[0] })
}

// reclaim interrupts the running spot instances that are chosen.
func (a *account) reclaim(e Event, chosen func(control.Instance) bool) error {
	for _, i := range a.emulator.Instances() {
		if i.Capacity != apiv1.CapacityTypeSpot || i.State != "running" || !chosen(i) {
			continue
		}
		if _, err := a.emulator.Interrupt(control.Interrupt{Instance: i.ID}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		a.noticed[i.ID] = time.Now()
	}
	return nil
}

func (a *account) price(e Event) error {
	dollars, err := strconv.ParseFloat(e.Args[1], 64)
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	a.driver.After(e.For, func() {
		a.priced = time.Now()
		_ = a.control().ClearPrices(context.Background()) // in memory: it cannot fail
	})
	a.priced = time.Now()
	return a.emulator.SetPrice(control.Price{Pool: poolOf(e.Args[0]), USD: dollars})
}

// releaseImages publishes a newer image, so that nodes with an older one drift.
func (a *account) releaseImages(Event) error {
	a.emulator.ReleaseImages()
	return nil
}

// maintenance announces in one message that the hosts of random instances will be retired.
func (a *account) maintenance(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.noticed[id] = time.Now()
	}
	if err := a.emulator.Maintain(ids...); err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	return nil
}

// impair lets the status checks of random instances fail for a while.
func (a *account) impair(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.advised[id] = true
		if err := a.emulator.Event(control.Event{Instance: id, Kind: "impaired"}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		a.driver.After(e.For, func() { _ = a.emulator.Event(control.Event{Instance: id, Kind: "healthy"}) }) // fails if the instance has ended
	}
	return nil
}

// retire schedules the retirement of random instances, or one that was cancelled at once. No message is sent about it.
func (a *account) retire(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	kind := "retirement"
	if len(e.Args) > 1 {
		kind = e.Args[1] + "-" + kind
	}
	for _, id := range ids {
		if kind == "retirement" {
			a.noticed[id] = time.Now()
		}
		if err := a.emulator.Event(control.Event{Instance: id, Kind: kind}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// rebalance sends rebalance recommendations for random instances.
func (a *account) rebalance(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.advised[id] = true
		if err := a.emulator.Event(control.Event{Instance: id, Kind: "rebalance"}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// junkMessages are bodies of messages that do not concern instances of the cluster, or are no messages at all.
var junkMessages = []string{
	"not JSON", `{"version":"0","detail":[]}`, `{}`, `[]`, `null`,
	`{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-00000000000000000"}}`,
	`{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":7}}`,
	`{"version":"0","source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{}]}}`,
}

// junk sends a number of messages to the queue that must be removed without an effect.
func (a *account) junk(e Event) error {
	n, err := e.number(0)
	if err != nil {
		return err
	}
	ctx := context.Background()
	client := sqs.NewFromConfig(a.aws)
	queue, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: awssdk.String(clusterName)})
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	for i := range n {
		_, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: awssdk.String(junkMessages[i%len(junkMessages)])})
		if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// some returns the ids of random running instances of the operator, as many as the first argument says.
func (a *account) some(e Event) (ids []string, err error) {
	n, err := e.number(0)
	if err != nil {
		return nil, err
	}
	ids = a.running(e)
	return ids[:min(n, len(ids))], nil
}

// running returns the ids of all running instances of the operator in random order.
func (a *account) running(e Event) (ids []string) {
	all := slices.DeleteFunc(a.emulator.Instances(), func(i control.Instance) bool {
		return i.State != "running" || i.Tags[apiv1.NodePoolLabelKey] == "" || slices.Contains(a.strangers, i.ID)
	})
	d := a.driver.Dice(e.Verb)
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

// reserve makes a capacity reservation. It ends after a while if the event lasts, and its instances run on as on-demand instances.
func (a *account) reserve(e Event) error {
	id, n, err := a.newReservation(e, control.Reservation{For: control.Duration(e.For)})
	if err != nil {
		return err
	}
	a.reservations = append(a.reservations, reservation{id: id, total: n, since: time.Now()})
	if e.For > 0 {
		a.driver.After(e.For, func() {
			a.reservations, a.cancelled = slices.DeleteFunc(a.reservations, func(r reservation) bool { return r.id == id }), time.Now()
		})
	}
	return nil
}

// reserveBlock makes a capacity block, which ends after a while.
func (a *account) reserveBlock(e Event) error {
	_, _, err := a.newReservation(e, control.Reservation{Block: true, For: control.Duration(e.For)})
	return err
}

// newReservation makes a capacity reservation of the type, zone and number of the event, which node classes select by the tag
// karpenter.sh/discovery. It returns its id and its number of instances.
func (a *account) newReservation(e Event, r control.Reservation) (id string, n int, err error) {
	if n, err = e.number(1); err != nil {
		return "", 0, err
	}
	pool := poolOf(e.Args[0])
	r.Type, r.Zone, r.Count, r.Tags = pool.Type, pool.Zone, n, map[string]string{"karpenter.sh/discovery": clusterName}
	if id, err = a.emulator.Reserve(r); err != nil {
		return "", 0, fmt.Errorf("%s: %w", e, err)
	}
	return id, n, nil
}

// fillSubnets lets others use all but N addresses of the subnets of a zone, or of a subnet, for a while.
func (a *account) fillSubnets(e Event) error {
	n, err := e.number(1)
	if err != nil {
		return err
	}
	a.emulator.FillSubnets(e.Args[0], n)
	a.driver.After(e.For, func() { a.emulator.FillSubnets(e.Args[0], -1) })
	return nil
}

// cancel cancels the oldest capacity reservations. Their instances run on as on-demand instances.
func (a *account) cancel(e Event) error {
	n, err := e.number(0)
	if err != nil {
		return err
	}
	for _, r := range a.reservations[:min(n, len(a.reservations))] {
		if err := a.emulator.Cancel(control.Reservation{ID: r.id}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	a.reservations, a.cancelled = a.reservations[min(n, len(a.reservations)):], time.Now()
	return nil
}
