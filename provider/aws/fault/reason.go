package fault

import (
	"regexp"
	"strings"
)

// An Explanation describes a failed launch: a reason for the claim's condition, and one sentence.
type Explanation struct {
	Reason  string
	Message string
}

// ReasonProfileInvalid means that EC2 does not find the instance profile.
const ReasonProfileInvalid = "InstanceProfileNameInvalid"

// rules map error texts to Explanations. The first rule applies whose parts are all in the text.
var rules = []struct {
	parts   []string
	reason  string
	message string
}{
	{[]string{NoServiceRole}, "SpotSLRCreationFailed",
		"Service-linked role for spot instances does not exist and could not be created; fix: create AWSServiceRoleForEC2Spot"},
	{[]string{"Not authorized for images"}, "AMIAuthorizationFailure",
		"Account is not authorized to launch the AMI; fix: share the AMI with the account"},
	{[]string{"permissions boundary"}, "Unauthorized", "Permissions boundary of the controller role denies the launch"},
	{[]string{"service control policy"}, "Unauthorized", "Service control policy denies the launch"},
	{[]string{"UnauthorizedOperation"}, "Unauthorized", "Controller role is not authorized to launch instances; fix: karpenter doctor aws lists missing permissions"},
	{[]string{"AccessDenied"}, "Unauthorized", "Controller role is not authorized to launch instances; fix: karpenter doctor aws lists missing permissions"},
	{[]string{"AuthFailure"}, "Unauthorized", "AWS rejected the credentials of the controller"},
	{[]string{"InvalidParameter", "belong to different networks"}, "SecurityGroupSubnetVPCMismatch",
		"Security groups and subnets belong to different VPCs"},
	{[]string{"iamInstanceProfile.name is invalid"}, ReasonProfileInvalid, "Instance profile does not exist"},
	{[]string{"InvalidLaunchTemplateId.NotFound"}, "LaunchTemplateNotFound", "Launch template was deleted"},
	{[]string{"User data is limited to"}, "UserDataSizeLimitExceeded", "User data is longer than the EC2 limit of 16,384 bytes"},
	{[]string{"InvalidAMIID.Malformed"}, "InvalidAMIID", "AMI ID is malformed"},
	{[]string{"InvalidAMIID.NotFound"}, "AMINotFound", "AMI does not exist"},
	{[]string{"RequestLimitExceeded"}, "RequestLimitExceeded", "AWS throttles requests, retrying"},
	{[]string{"InternalError"}, "InternalError", "AWS reported an internal error, retrying"},
	{[]string{"not eligible for Free Tier"}, "FreeTierIneligible", "Account is restricted to free-tier instance types"},
	{[]string{"MaxFleetCountExceeded"}, "FleetQuotaExceeded", "Quota of EC2 fleets is used up; fix: raise it in Service Quotas"},
	{[]string{"PendingVerification"}, "AccountPendingVerification", "AWS has not verified the account yet"},
	{[]string{"MaxSpotInstanceCountExceeded"}, "SpotQuotaExceeded", "Quota of spot vCPUs is used up; fix: raise it in Service Quotas"},
	{[]string{"VcpuLimitExceeded"}, "VCPULimitExceeded", "Quota of on-demand vCPUs is used up; fix: raise it in Service Quotas"},
	{[]string{NoFreeAddresses}, NoFreeAddresses, "Subnet has no free IP addresses"},
}

// detailed are the reasons for which the text of EC2 names what is wrong: an AMI, a profile, a group. For the others, such as
// Unauthorized, it is long, or has nothing that the message lacks.
var detailed = map[string]bool{
	"LaunchFailed": true, "AMIAuthorizationFailure": true, "SecurityGroupSubnetVPCMismatch": true, ReasonProfileInvalid: true,
	"LaunchTemplateNotFound": true, "InvalidAMIID": true, "AMINotFound": true,
}

// Explain returns the Explanation of a launch error. If no rule applies, the reason is LaunchFailed. The message is the same
// for each attempt that fails for the same cause.
func Explain(err error) Explanation {
	why := explain(err.Error())
	if detailed[why.Reason] {
		what, fix, fixable := strings.Cut(why.Message, "; fix: ")
		why.Message = what + ": " + constant(Brief(err))
		if fixable {
			why.Message += "; fix: " + fix
		}
	}
	return why
}

// varying matches what differs between attempts: request IDs, the encoded authorization message, and the local port of a
// connection.
var varying = regexp.MustCompile(`(?i)[,;.]? *(\(?request ?id: *[-0-9a-z]*\)?|encoded authorization failure message: *\S*)|[0-9a-f.:\[\]]+:\d+->`)

// constant returns the text without what differs between attempts.
func constant(text string) string { return strings.TrimSpace(varying.ReplaceAllString(text, "")) }

// explain returns the Explanation of the text of a launch error without details.
func explain(text string) Explanation {
	for _, r := range rules {
		matches := true
		for _, p := range r.parts {
			matches = matches && strings.Contains(text, p)
		}
		if matches {
			return Explanation{Reason: r.reason, Message: r.message}
		}
	}
	return Explanation{Reason: "LaunchFailed", Message: "AWS did not launch the instance"}
}
