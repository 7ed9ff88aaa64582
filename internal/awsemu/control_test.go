package awsemu

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// control returns a client of the control interface.
func (l *lab) control() control.Client { return control.Client{BaseURL: l.url, HTTP: l.http} }

// ok stops the test if err is not nil.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSteerCapacity(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	at := choice{typ: "m7i.large", zone: "us-east-1a"}
	try := func() int {
		out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), l.fleet("lt-x", spot, 1, at)))
		return len(out.Instances)
	}
	ok(t, l.control().ICE(bg(), control.Pool{Type: "m7i.*", Zone: "us-east-1a", Capacity: "spot"}))
	if try() != 0 {
		t.Error("launched without capacity")
	}
	ok(t, l.control().ClearCapacity(bg(), control.Pool{Type: "c7i.*"}))
	if try() != 0 {
		t.Error("clearing another pattern brought the capacity back")
	}
	ok(t, l.control().ClearCapacity(bg(), control.Pool{}))
	if try() != 1 {
		t.Error("not launched after the capacity came back")
	}
	ok(t, l.control().SetQuota(bg(), control.Quota{Capacity: "spot", VCPUs: 2}))
	if try() != 0 {
		t.Error("launched beyond the quota")
	}
	ok(t, l.control().SetPrice(bg(), control.Price{Pool: control.Pool{Type: "m7i.large", Zone: "us-east-1a"}, USD: 0.123}))
	ok(t, l.control().SetQuota(bg(), control.Quota{Capacity: "spot", VCPUs: -1}))
	try()
	list, err := l.control().Instances(bg())
	ok(t, err)
	if len(list) != 2 || list[1].PricePerHour != 0.123 || list[1].Type != "m7i.large" || list[1].State != "pending" {
		t.Errorf("instances are %+v", list)
	}
}

// A pattern that matches nothing is refused, with what there is.
func TestPatternsThatMatchNothing(t *testing.T) {
	c := newLab(t).control()
	m7i := control.Pool{Type: "m7i.large"}
	for want, err := range map[string]error{
		`type "m7i.lagre" matches no instance type that us-east-1 offers`: c.ICE(bg(), control.Pool{Type: "m7i.lagre"}),
		`zone "us-east-9a" matches none of us-east-1a`:                    c.ICE(bg(), control.Pool{Zone: "us-east-9a"}),
		`capacity type "spto" matches none of on-demand, spot, reserved`:  c.ICE(bg(), control.Pool{Capacity: "spto"}),
		"limit -1 is negative": c.SetCapacity(bg(), control.Capacity{Pool: m7i, Limit: -1}),
		`type "m0.large"`:      c.SetPrice(bg(), control.Price{Pool: control.Pool{Type: "m0.large"}, USD: 1}),
		`capacity type "spto" is neither spot nor on-demand`: c.SetQuota(bg(), control.Quota{Capacity: "spto", VCPUs: 1}),
		`operation "CreateFlete" matches none`:               c.SetThrottle(bg(), control.Throttle{Op: "CreateFlete", Rate: 1}),
		`operation "ec3:*" matches none`:                     c.Fail(bg(), control.Fail{Op: "ec3:*", Code: "InternalError"}),
		`operation "Describe" matches none`:                  c.Hang(bg(), control.Hang{Op: "Describe"}),
		`type "m0.*" matches no`:                             c.Hang(bg(), control.Hang{Op: "CreateFleet", Type: "m0.*"}),
		`type "m1" matches no`:                               c.SetBoot(bg(), control.Boot{Type: "m1", Never: true}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestThrottle(t *testing.T) {
	l := newLab(t)
	ok(t, l.control().SetThrottle(bg(), control.Throttle{Op: "ec2:Describe*", Rate: 2, Burst: 3}))
	call := func() error {
		_, err := l.ec2.DescribeSecurityGroups(bg(), &ec2.DescribeSecurityGroupsInput{})
		return err
	}
	for range 3 {
		ok(t, call())
	}
	wantCode(t, call(), "RequestLimitExceeded")
	l.clock.Step(500 * time.Millisecond) // after that, there is one token
	ok(t, call())
	wantCode(t, call(), "RequestLimitExceeded")
	_, err := l.ssm.GetParameter(bg(), &ssm.GetParameterInput{Name: aws.String("/nothing")})
	wantCode(t, err, "ParameterNotFound") // the service SSM is not throttled
	ok(t, l.control().ClearFaults(bg(), "ec2:*"))
	ok(t, call())
}

func TestFail(t *testing.T) {
	l := newLab(t)
	ok(t, l.control().Fail(bg(), control.Fail{Op: "DescribeSubnets", Code: "InternalError", Message: "boom", Times: 2}))
	call := func() error {
		_, err := l.ec2.DescribeSubnets(bg(), &ec2.DescribeSubnetsInput{})
		return err
	}
	wantCode(t, call(), "InternalError")
	wantCode(t, call(), "InternalError")
	ok(t, call())

	ok(t, l.control().Fail(bg(), control.Fail{Op: "*", Code: "html"}))
	if err := call(); err == nil || !strings.Contains(err.Error(), "StatusCode: 500") {
		t.Errorf("HTML page gives %v, want status 500", err)
	}
	ok(t, l.control().ClearFaults(bg(), "*"))
	ok(t, l.control().Fail(bg(), control.Fail{Op: "*", Code: "AccessDeniedException"}))
	_, err := l.iam.GetRole(bg(), &iam.GetRoleInput{RoleName: aws.String("x")})
	wantCode(t, err, "AccessDeniedException")
	_, err = l.eks.DescribeCluster(bg(), &eks.DescribeClusterInput{Name: aws.String("demo")})
	wantCode(t, err, "AccessDeniedException")
	_, err = l.ssm.GetParameter(bg(), &ssm.GetParameterInput{Name: aws.String("x")})
	wantCode(t, err, "AccessDeniedException")
}

// One CreateFleet call hangs. Other fleets and a second call for the same type do not.
func TestHang(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		l.template("lt-x", "hello")
		ok(t, l.control().Hang(bg(), control.Hang{Op: "CreateFleet", Type: "r7i.*", For: control.Duration(time.Minute), Times: 1}))
		slow := l.fleet("lt-x", spot, 1, choice{typ: "r7i.large", zone: "us-east-1a"})
		done := make(chan error, 1)
		go func() {
			_, err := l.ec2.CreateFleet(bg(), slow)
			done <- err
		}()
		synctest.Wait()
		l.launch(l.fleet("lt-x", spot, 1, choice{typ: "c7i.large", zone: "us-east-1a"}))
		l.launch(l.fleet("lt-x", spot, 1, choice{typ: "r7i.large", zone: "us-east-1a"}))
		select {
		case err := <-done:
			t.Fatalf("the hanging fleet returned %v", err)
		default:
		}
		l.clock.Step(time.Minute)
		ok(t, <-done)
		if n := len(l.Instances()); n != 3 {
			t.Errorf("%d instances, want 3", n)
		}
	})
}

// A client cancels a call. If the call hangs before the operation, nothing was launched. If it hangs afterwards, there is an
// instance that the client did not learn of.
func TestHangAndGiveUp(t *testing.T) {
	for _, after := range []bool{false, true} {
		inBubble(t, func(t *testing.T, l *lab) {
			l.template("lt-x", "hello")
			l.Hang(control.Hang{Op: "CreateFleet", For: control.Duration(time.Hour), After: after})
			in := l.fleet("lt-x", spot, 1, choice{typ: "c7i.large", zone: "us-east-1a"})
			ctx, cancel := context.WithCancel(bg())
			done := make(chan error, 1)
			go func() {
				_, err := l.ec2.CreateFleet(ctx, in)
				done <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-done; err == nil {
				t.Error("a call that was given up succeeded")
			}
			want := 0
			if after {
				want = 1
			}
			if n := len(l.Instances()); n != want {
				t.Errorf("after=%v: %d instances, want %d", after, n, want)
			}
			l.ClearFaults("*")
			l.launch(in) // with the same token, only one instance is launched
			if n := len(l.Instances()); n != 1 {
				t.Errorf("after=%v: %d instances after the retry, want 1", after, n)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", strings.Repeat("long ", 400))
	_, err := l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	list, err := l.control().Calls(bg(), 0)
	ok(t, err)
	last := list[len(list)-1]
	if last.Service != "ec2" || last.Action != "TerminateInstances" || last.Params["InstanceId.1"] != "i-0123456789abcdef0" ||
		last.Status != 400 || last.Code != "InvalidInstanceID.NotFound" || !last.Time.Equal(start) {
		t.Errorf("last call is %+v", last)
	}
	if data := list[len(list)-2].Params["LaunchTemplateData.UserData"]; len(data) > 600 || !strings.HasSuffix(data, "bytes)") {
		t.Errorf("long user data is recorded as %d bytes", len(data))
	}
	first := list[0]
	if first.Service != "ssm" || first.Action != "GetParameter" || !strings.HasPrefix(first.Params["Name"], "/aws/service/eks") || first.Status != 200 {
		t.Errorf("first call is %+v", first)
	}
	newer, err := l.control().Calls(bg(), last.Seq)
	ok(t, err)
	if len(newer) != 0 {
		t.Errorf("calls after the last are %+v", newer)
	}
}

func TestReset(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	first := l.launch(l.fleet("lt-x", spot, 1, choice{typ: "c7i.large", zone: "us-east-1a"}))
	before := l.privateSubnet("us-east-1a")
	ok(t, l.control().Fail(bg(), control.Fail{Op: "*", Code: "InternalError"}))
	ok(t, l.control().Reset(bg()))
	if n := len(l.Instances()); n != 0 {
		t.Errorf("%d instances after the reset", n)
	}
	l.template("lt-x", "hello")
	second := l.launch(l.fleet("lt-x", spot, 1, choice{typ: "c7i.large", zone: "us-east-1a"}))
	if first[0] == second[0] {
		t.Errorf("the reset brought id %s back", first[0])
	}
	if after := l.privateSubnet("us-east-1a"); after != before {
		t.Errorf("the reset made subnet %s of %s", after, before)
	}
}

func TestSteeringRefusals(t *testing.T) {
	l := newLab(t)
	for path, body := range map[string]string{
		"capacity":  `{"typ":"m7i.large"}`,
		"hang":      `{"op":"CreateFleet","for":"soon"}`,
		"price":     `{"type":"m7i.large","usd":-1}`,
		"interrupt": `{}`,
		"event":     `{"instance":"i-1","kind":"party"}`,
	} {
		resp, err := http.Post(l.url+"/_emulator/"+path, "application/json", strings.NewReader(body)) //nolint:noctx // a test
		ok(t, err)
		ok(t, resp.Body.Close())
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s with %s gives status %d, want 400", path, body, resp.StatusCode)
		}
	}
	if _, err := l.control().Interrupt(bg(), control.Interrupt{Instance: "i-0123456789abcdef0"}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("interrupting nothing gives %v", err)
	}
}
