package fault

import "strings"

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
		"service-linked role for spot instances does not exist and could not be created; fix: create AWSServiceRoleForEC2Spot"},
	{[]string{"Not authorized for images"}, "AMIAuthorizationFailure",
		"account is not authorized to launch the AMI; fix: share the AMI with the account"},
	{[]string{"permissions boundary"}, "Unauthorized", "permissions boundary of the controller role denies the launch"},
	{[]string{"service control policy"}, "Unauthorized", "service control policy denies the launch"},
	{[]string{"UnauthorizedOperation"}, "Unauthorized", "controller role is not authorized to launch instances; fix: karpenter doctor aws lists missing permissions"},
	{[]string{"AccessDenied"}, "Unauthorized", "controller role is not authorized to launch instances; fix: karpenter doctor aws lists missing permissions"},
	{[]string{"AuthFailure"}, "Unauthorized", "AWS rejected the credentials of the controller"},
	{[]string{"InvalidParameter", "belong to different networks"}, "SecurityGroupSubnetVPCMismatch",
		"security groups and subnets belong to different VPCs"},
	{[]string{"iamInstanceProfile.name is invalid"}, ReasonProfileInvalid, "instance profile does not exist"},
	{[]string{"InvalidLaunchTemplateId.NotFound"}, "LaunchTemplateNotFound", "launch template was deleted"},
	{[]string{"User data is limited to"}, "UserDataSizeLimitExceeded", "user data is longer than the EC2 limit of 16,384 bytes"},
	{[]string{"InvalidAMIID.Malformed"}, "InvalidAMIID", "AMI ID is malformed"},
	{[]string{"InvalidAMIID.NotFound"}, "AMINotFound", "AMI does not exist"},
	{[]string{"RequestLimitExceeded"}, "RequestLimitExceeded", "AWS throttles requests, retrying"},
	{[]string{"InternalError"}, "InternalError", "AWS reported an internal error, retrying"},
	{[]string{"not eligible for Free Tier"}, "FreeTierIneligible", "account is restricted to free-tier instance types"},
	{[]string{"MaxFleetCountExceeded"}, "FleetQuotaExceeded", "quota of EC2 fleets is used up; fix: raise it in Service Quotas"},
	{[]string{"PendingVerification"}, "AccountPendingVerification", "AWS has not verified the account yet"},
	{[]string{"MaxSpotInstanceCountExceeded"}, "SpotQuotaExceeded", "quota of spot vCPUs is used up; fix: raise it in Service Quotas"},
	{[]string{"VcpuLimitExceeded"}, "VCPULimitExceeded", "quota of on-demand vCPUs is used up; fix: raise it in Service Quotas"},
	{[]string{NoFreeAddresses}, NoFreeAddresses, "subnet has no free IP addresses"},
}

// Explain returns the Explanation of the text of a launch error. If no rule
// applies, the reason is LaunchFailed.
func Explain(text string) Explanation {
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
