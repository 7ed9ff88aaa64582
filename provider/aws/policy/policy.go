package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
)

// A Scope identifies the cluster for which permissions are granted.
type Scope struct {
	Partition string // aws, aws-cn, aws-us-gov
	Region    string
	Account   string
	Cluster   string
	NodeRole  string // name of the role of nodes
	Queue     string // name of the interruption queue
	// Suffix is the domain of the partition's services. If it is empty, the partition determines the domain.
	Suffix string
}

// A Statement allows actions on resources under conditions.
type Statement struct {
	Sid       string
	Effect    string
	Resource  []string
	Action    []string
	Condition Conditions `json:",omitempty"`
}

// Conditions are the values of an IAM condition, by condition operator and condition key.
type Conditions map[string]map[string]any

// A Policy is one managed policy. The controller needs all of them, apart from
// those of features that are off (see Why).
type Policy struct {
	Name string
	// Why is what the policy allows and when it is needed: a text that begins with a verb, without a full stop.
	Why        string
	Statements []Statement
}

// Document returns the policy as an IAM policy document.
func (p Policy) Document() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(struct {
		Version   string
		Statement []Statement
	}{"2012-10-17", p.Statements})
	if err != nil {
		return nil, fmt.Errorf("write policy %s: %w", p.Name, err)
	}
	return out.Bytes(), nil
}

// All returns the policies for a scope, in the order of the documentation.
func All(s Scope) []Policy {
	return []Policy{
		{"NodeLifecycle", "launches, tags, reboots and terminates instances of this cluster, and no others", s.lifecycle()},
		{"InstanceProfiles", "makes instance profiles for the role of nodes, and passes the role to instances. If every EC2NodeClass has spec.instanceProfile, " +
			"the statements PassNodeRole and ReadProfiles are enough. ReadProfiles is then for checks of a profile that EC2 " +
			"refused, for the condition NodeJoinDelayed, and to find profiles that are to be deleted. With --isolated-vpc it is not " +
			"used", s.profiles()},
		{"Cluster", "reads the cluster's endpoint, address range and version, and whether the role of nodes has access", s.cluster()},
		{"Interruption", "reads the queue of interruption events; only with --interruption-queue", s.interruption()},
		{"ZonalShift", "follows zonal shifts of the cluster; only with --enable-zonal-shift", s.zonalShift()},
		{"Discovery", "reads instance types, prices, images, networks, reservations", s.discovery()},
	}
}

func allow(sid string, actions, resources []string, conditions Conditions) Statement {
	return Statement{Sid: sid, Effect: "Allow", Resource: resources, Action: actions, Condition: conditions}
}

// ec2 returns ARN patterns for kinds of EC2 resources in any account.
func (s Scope) ec2(kinds ...string) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, fmt.Sprintf("arn:%s:ec2:%s:*:%s/*", s.Partition, s.Region, k))
	}
	return out
}

const (
	owned    = "owned"
	anything = "*"
)

func (s Scope) clusterTag() string { return "kubernetes.io/cluster/" + s.Cluster }

// ours returns the condition that a resource has the tags of the cluster and of a pool.
func (s Scope) ours() Conditions {
	return Conditions{
		"StringEquals": {"aws:ResourceTag/" + s.clusterTag(): owned},
		"StringLike":   {"aws:ResourceTag/karpenter.sh/nodepool": anything},
	}
}

func (s Scope) lifecycle() []Statement {
	made := []string{"fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request"}
	tagged := func() Conditions {
		return Conditions{
			"StringEquals": {
				"aws:RequestTag/" + s.clusterTag():    owned,
				"aws:RequestTag/eks:eks-cluster-name": s.Cluster,
			},
			"StringLike": {"aws:RequestTag/karpenter.sh/nodepool": anything},
		}
	}
	creating := tagged()
	creating["StringEquals"]["ec2:CreateAction"] = []string{"RunInstances", "CreateFleet", "CreateLaunchTemplate"}
	named := s.ours()
	named["StringEqualsIfExists"] = map[string]any{"aws:RequestTag/eks:eks-cluster-name": s.Cluster}
	named["ForAllValues:StringEquals"] = map[string]any{
		"aws:TagKeys": []string{"eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"},
	}
	launch := []string{"ec2:RunInstances", "ec2:CreateFleet"}
	images := []string{
		fmt.Sprintf("arn:%s:ec2:%s::image/*", s.Partition, s.Region),
		fmt.Sprintf("arn:%s:ec2:%s::snapshot/*", s.Partition, s.Region),
	}
	return []Statement{
		allow("UseWhatIsThere", launch,
			append(images, s.ec2("security-group", "subnet", "capacity-reservation", "placement-group")...), nil),
		allow("UseOwnLaunchTemplates", launch, s.ec2("launch-template"), s.ours()),
		allow("MakeTagged", append(launch, "ec2:CreateLaunchTemplate"), s.ec2(made...), tagged()),
		allow("TagWhatIsMade", []string{"ec2:CreateTags"}, s.ec2(made...), creating),
		allow("NameOwnInstances", []string{"ec2:CreateTags"}, s.ec2("instance"), named),
		allow("ReadOwnConsoles", []string{"ec2:GetConsoleOutput"}, s.ec2("instance"), s.ours()),
		allow("RebootOwn", []string{"ec2:RebootInstances"}, s.ec2("instance"), s.ours()),
		allow("EndOwn", []string{"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"}, s.ec2("instance", "launch-template"), s.ours()),
	}
}

// suffix returns the domain of the partition's services.
func (s Scope) suffix() string {
	if s.Suffix == "" && s.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return cmp.Or(s.Suffix, "amazonaws.com")
}

func (s Scope) profiles() []Statement {
	profiles := []string{fmt.Sprintf("arn:%s:iam::%s:instance-profile/*", s.Partition, s.Account)}
	with := func(prefix string, more map[string]any) Conditions {
		c := Conditions{
			"StringEquals": {
				prefix + s.clusterTag():                  "owned",
				prefix + "topology.kubernetes.io/region": s.Region,
			},
			"StringLike": {prefix + "karpenter.k8s.aws/ec2nodeclass": anything},
		}
		for k, v := range more {
			c["StringEquals"][k] = v
		}
		return c
	}
	requested := map[string]any{"aws:RequestTag/eks:eks-cluster-name": s.Cluster}
	// Tags are changed on profiles of this cluster only. A profile of other origin could be tagged as one of this cluster otherwise, and
	// then be changed and deleted. For a profile that is created with tags, the tags of the request are those of the profile.
	retagged := with("aws:RequestTag/", requested)
	for operator, keys := range with("aws:ResourceTag/", nil) {
		maps.Copy(retagged[operator], keys)
	}
	return []Statement{
		allow("PassNodeRole", []string{"iam:PassRole"}, []string{fmt.Sprintf("arn:%s:iam::%s:role/%s", s.Partition, s.Account, s.NodeRole)},
			Conditions{"StringEquals": {"iam:PassedToService": "ec2." + s.suffix()}}),
		allow("MakeProfiles", []string{"iam:CreateInstanceProfile"}, profiles, with("aws:RequestTag/", requested)),
		allow("TagOwnProfiles", []string{"iam:TagInstanceProfile"}, profiles, retagged),
		allow("ChangeOwnProfiles",
			[]string{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"},
			profiles, with("aws:ResourceTag/", nil)),
		allow("ReadProfiles", []string{"iam:GetInstanceProfile", "iam:ListInstanceProfiles"}, profiles, nil),
	}
}

// ClusterARN returns the ARN of the cluster.
func (s Scope) ClusterARN() string {
	return fmt.Sprintf("arn:%s:eks:%s:%s:cluster/%s", s.Partition, s.Region, s.Account, s.Cluster)
}

func (s Scope) cluster() []Statement {
	return []Statement{
		allow("DescribeCluster", []string{"eks:DescribeCluster"}, []string{s.ClusterARN()}, nil),
		allow("ReadAccessEntries", []string{"eks:DescribeAccessEntry"},
			[]string{fmt.Sprintf("arn:%s:eks:%s:%s:access-entry/%s/*", s.Partition, s.Region, s.Account, s.Cluster)}, nil),
	}
}

func (s Scope) interruption() []Statement {
	return []Statement{allow("ReadQueue", []string{"sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"},
		[]string{fmt.Sprintf("arn:%s:sqs:%s:%s:%s", s.Partition, s.Region, s.Account, s.Queue)}, nil)}
}

func (s Scope) zonalShift() []Statement {
	return []Statement{allow("FollowZonalShifts", []string{"arc-zonal-shift:GetManagedResource"}, []string{anything},
		Conditions{"StringEquals": {"arc-zonal-shift:ResourceIdentifier": s.ClusterARN()}})}
}

func (s Scope) discovery() []Statement {
	var reads []string
	for _, what := range []string{
		"CapacityReservations", "Images", "Instances", "InstanceStatus", "InstanceTypeOfferings", "InstanceTypes",
		"LaunchTemplates", "PlacementGroups", "SecurityGroups", "SpotPriceHistory", "Subnets",
	} {
		reads = append(reads, "ec2:Describe"+what)
	}
	return []Statement{
		allow("ReadEC2", reads, []string{anything}, Conditions{"StringEquals": {"aws:RequestedRegion": s.Region}}),
		allow("ReadImageParameters", []string{"ssm:GetParameter"},
			[]string{fmt.Sprintf("arn:%s:ssm:%s::parameter/aws/service/*", s.Partition, s.Region)}, nil),
		allow("ReadPrices", []string{"pricing:GetProducts"}, []string{anything}, nil),
	}
}
