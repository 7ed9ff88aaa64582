package awsemu

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// imdsOf returns the SDK's metadata client as it would run on the instance.
func (l *lab) imdsOf(id string) *imds.Client {
	server := httptest.NewServer(l.Metadata(id))
	l.t.Cleanup(server.Close)
	return imds.New(imds.Options{Endpoint: server.URL, Retryer: aws.NopRetryer{}})
}

// read reads a path of the metadata service.
func (l *lab) read(c *imds.Client, path string) string {
	l.t.Helper()
	out, err := c.GetMetadata(l.t.Context(), &imds.GetMetadataInput{Path: path})
	if err != nil {
		l.t.Fatalf("%s: %v", path, err)
	}
	defer out.Content.Close()
	text, err := io.ReadAll(out.Content)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// The metadata of an instance agrees with what EC2 returns about it.
func TestMetadata(t *testing.T) {
	l := newLab(t)
	l.template("demo-lt", "hello")
	id := l.launch(l.fleet("demo-lt", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"}))[0]
	c := l.imdsOf(id)
	out, err := c.GetInstanceIdentityDocument(t.Context(), &imds.GetInstanceIdentityDocumentInput{})
	if err != nil {
		t.Fatal(err)
	}
	if out.InstanceID != id || out.InstanceType != "m7i.large" || out.Region != "us-east-1" || out.AvailabilityZone != "us-east-1a" ||
		out.AccountID != "123456789012" || out.Architecture != "x86_64" {
		t.Errorf("the identity is %+v", out.InstanceIdentityDocument)
	}
	region, err := c.GetRegion(t.Context(), &imds.GetRegionInput{})
	if err != nil || region.Region != "us-east-1" {
		t.Errorf("the region is %v, %v", region, err)
	}
	data, err := c.GetUserData(t.Context(), &imds.GetUserDataInput{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(data.Content); err != nil || string(text) != "hello" {
		t.Errorf("user data is %q, %v", text, err)
	}
	described, err := l.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	i := described.Reservations[0].Instances[0]
	mac := l.read(c, "mac")
	for path, want := range map[string]string{
		"instance-id": id, "ami-id": *i.ImageId, "local-ipv4": *i.PrivateIpAddress, "local-hostname": *i.PrivateDnsName,
		"instance-life-cycle": "spot", "placement/availability-zone-id": *i.Placement.AvailabilityZoneId,
		"services/partition": "aws", "services/domain": "amazonaws.com",
		"placement/":               "availability-zone\navailability-zone-id\nregion",
		"network/interfaces/macs/": mac + "/",
		"network/interfaces/macs/" + mac + "/subnet-id":       *i.SubnetId,
		"network/interfaces/macs/" + mac + "/vpc-id":          *i.VpcId,
		"network/interfaces/macs/" + mac + "/interface-id":    *i.NetworkInterfaces[0].NetworkInterfaceId,
		"network/interfaces/macs/" + mac + "/local-ipv4s":     *i.PrivateIpAddress,
		"network/interfaces/macs/" + mac + "/security-groups": "demo-node",
	} {
		if got := l.read(c, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if _, err := c.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "spot/instance-action"}); err == nil {
		t.Error("a spot instance has an instance action without an interruption")
	}
	if _, err := l.imdsOf("i-none").GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "mac"}); err == nil {
		t.Error("an instance that is not there gets an answer")
	}
}

// A spot instance gets its notice two minutes before EC2 reclaims it, with the exact time, and may get a recommendation earlier.
func TestNotices(t *testing.T) {
	l := newLab(t)
	l.template("demo-lt", "hello")
	id := l.launch(l.fleet("demo-lt", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"}))[0]
	l.clock.Step(time.Minute)
	c := l.imdsOf(id)
	if err := l.Event(control.Event{Instance: id, Kind: "rebalance"}); err != nil {
		t.Fatal(err)
	}
	if got, want := l.read(c, "events/recommendations/rebalance"), `{"noticeTime":"2026-11-21T12:01:00Z"}`; got != want {
		t.Errorf("the advice is %s, want %s", got, want)
	}
	if _, err := l.Interrupt(control.Interrupt{Instance: id}); err != nil {
		t.Fatal(err)
	}
	var action struct{ Action, Time string }
	if err := json.Unmarshal([]byte(l.read(c, "spot/instance-action")), &action); err != nil || action.Action != "terminate" || action.Time != "2026-11-21T12:03:00Z" {
		t.Errorf("the notice is %+v, %v", action, err)
	}
	if got := l.read(c, "spot/termination-time"); got != action.Time {
		t.Errorf("it ends at %s", got)
	}
}

// A token is required only if the instance requires one. A token is valid for one instance until it expires.
func TestTokens(t *testing.T) {
	l := newLab(t)
	l.template("demo-lt", "hello") // the template requires tokens
	ids := l.launch(l.fleet("demo-lt", spot, 2, choice{typ: "m7i.large", zone: "us-east-1a"}))
	ask := func(method, path string, header ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, l.url+metadataPrefix+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(header); n += 2 {
			req.Header.Set(header[n], header[n+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, strings.TrimSpace(string(body))
	}
	const ttl = "X-aws-ec2-metadata-token-ttl-seconds"
	at := ids[0] + "/latest/meta-data/instance-id"
	if code, _ := ask("GET", at); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := ask("PUT", ids[0]+"/latest/api/token", ttl, "21601"); code != http.StatusBadRequest {
		t.Errorf("a token for too long: %d", code)
	}
	if code, _ := ask("PUT", ids[0]+"/latest/api/token", ttl, "60", "X-Forwarded-For", "10.0.0.1"); code != http.StatusForbidden {
		t.Errorf("a token through a proxy: %d", code)
	}
	code, token := ask("PUT", ids[0]+"/latest/api/token", ttl, "60")
	if code != http.StatusOK {
		t.Fatalf("a token: %d", code)
	}
	if code, body := ask("GET", at, tokenHeader, token); code != http.StatusOK || body != ids[0] {
		t.Errorf("with a token: %d %s", code, body)
	}
	if code, _ := ask("GET", ids[1]+"/latest/meta-data/instance-id", tokenHeader, token); code != http.StatusUnauthorized {
		t.Errorf("with another's token: %d", code)
	}
	l.clock.Step(time.Minute)
	if code, _ := ask("GET", at, tokenHeader, token); code != http.StatusUnauthorized {
		t.Errorf("with an old token: %d", code)
	}
}
