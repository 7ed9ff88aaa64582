package authz

import "testing"

const document = `{"Version":"2012-10-17","Statement":[
	{"Sid":"Read","Effect":"Allow","Action":"ec2:Describe*","Resource":"*","Condition":{"StringEquals":{"aws:RequestedRegion":"r"}}},
	{"Sid":"End","Effect":"Allow","Action":["ec2:TerminateInstances"],"Resource":["arn:aws:ec2:r:*:instance/*"],
	 "Condition":{"StringEquals":{"aws:ResourceTag/cluster":"c"},"StringLike":{"aws:ResourceTag/pool":"*"}}},
	{"Sid":"Tag","Effect":"Allow","Action":"ec2:CreateTags","Resource":"*",
	 "Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":["Name","a"]},"StringEqualsIfExists":{"aws:RequestTag/a":"1"}}},
	{"Sid":"Never","Effect":"Deny","Action":"*","Resource":"arn:aws:ec2:r:*:instance/i-precious"}]}`

func TestAllows(t *testing.T) {
	p, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:ec2:r:1:instance/i-1"
	tagged := func(cluster, pool string) map[string][]string {
		return map[string][]string{"aws:ResourceTag/cluster": {cluster}, "aws:ResourceTag/pool": {pool}}
	}
	for _, tt := range []struct {
		name string
		r    Request
		want bool
	}{
		{"a read", Request{"ec2:DescribeImages", "*", map[string][]string{"aws:RequestedRegion": {"r"}}}, true},
		{"a read elsewhere", Request{"ec2:DescribeImages", "*", map[string][]string{"aws:RequestedRegion": {"s"}}}, false},
		{"a read of nowhere", Request{"ec2:DescribeImages", "*", nil}, false},
		{"the case of an action does not matter", Request{"EC2:describeimages", "*", map[string][]string{"aws:RequestedRegion": {"r"}}}, true},
		{"ours", Request{"ec2:TerminateInstances", arn, tagged("c", "p")}, true},
		{"ours, of a pool without a name", Request{"ec2:TerminateInstances", arn, tagged("c", "")}, true},
		{"another cluster's", Request{"ec2:TerminateInstances", arn, tagged("d", "p")}, false},
		{"an instance without tags", Request{"ec2:TerminateInstances", arn, nil}, false},
		{"something else", Request{"ec2:TerminateInstances", "arn:aws:ec2:r:1:volume/v", tagged("c", "p")}, false},
		{"denied although allowed", Request{"ec2:TerminateInstances", "arn:aws:ec2:r:1:instance/i-precious", tagged("c", "p")}, false},
		{"a tag that may be", Request{"ec2:CreateTags", arn, map[string][]string{"aws:TagKeys": {"Name"}}}, true},
		{"a tag with the wrong value", Request{"ec2:CreateTags", arn, map[string][]string{"aws:TagKeys": {"a"}, "aws:RequestTag/a": {"2"}}}, false},
		{"one tag too many", Request{"ec2:CreateTags", arn, map[string][]string{"aws:TagKeys": {"Name", "b"}}}, false},
		{"an action in no statement", Request{"iam:CreateUser", "*", nil}, false},
	} {
		if got := p.Allows(tt.r); got != tt.want {
			t.Errorf("%s: allowed is %v", tt.name, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":             "x",
		"no effect":           `{"Statement":[{"Action":"a","Resource":"*"}]}`,
		"no resource":         `{"Statement":[{"Effect":"Allow","Action":"a"}]}`,
		"an unknown operator": `{"Statement":[{"Effect":"Allow","Action":"a","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"1"}}}]}`,
		"a number":            `{"Statement":[{"Effect":"Allow","Action":1,"Resource":"*"}]}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
