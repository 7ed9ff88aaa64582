package fault

import "strings"

// An Explanation is a failed launch in words: a reason for the claim's condition, and one sentence.
type Explanation struct {
	Reason  string
	Message string
}

// rules are tried in order on the text of an error; all parts must be in it.
var rules = []struct {
	parts   []string
	reason  string
	message string
}{
	{[]string{NoServiceRole}, "SpotSLRCreationFailed",
		"the service-linked role for spot instances is missing and may not be created"},
	{[]string{"Not authorized for images"}, "AMIAuthorizationFailure",
		"the account may not launch the image"},
	{[]string{"permissions boundary"}, "Unauthorized", "a permissions boundary of the controller's role denies the launch"},
	{[]string{"service control policy"}, "Unauthorized", "a service control policy denies the launch"},
	{[]string{"UnauthorizedOperation"}, "Unauthorized", "the controller's role may not launch instances"},
	{[]string{"AccessDenied"}, "Unauthorized", "the controller's role may not launch instances"},
	{[]string{"AuthFailure"}, "Unauthorized", "AWS did not accept the controller's credentials"},
	{[]string{"InvalidParameter", "belong to different networks"}, "SecurityGroupSubnetVPCMismatch",
		"security groups and subnets belong to different networks"},
	{[]string{"iamInstanceProfile.name is invalid"}, "InstanceProfileNameInvalid", "the instance profile does not exist"},
	{[]string{"InvalidLaunchTemplateId.NotFound"}, "LaunchTemplateNotFound", "the launch template is gone"},
	{[]string{"User data is limited to"}, "UserDataSizeLimitExceeded", "the user data is longer than 16384 bytes"},
	{[]string{"InvalidAMIID.Malformed"}, "InvalidAMIID", "the image id is malformed"},
	{[]string{"InvalidAMIID.NotFound"}, "AMINotFound", "the image does not exist"},
	{[]string{"RequestLimitExceeded"}, "RequestLimitExceeded", "AWS throttles requests"},
	{[]string{"InternalError"}, "InternalError", "AWS had an internal error"},
	{[]string{"not eligible for Free Tier"}, "FreeTierIneligible", "the account may only launch free-tier types"},
	{[]string{"MaxFleetCountExceeded"}, "FleetQuotaExceeded", "the account's quota of fleets is used up"},
	{[]string{"PendingVerification"}, "AccountPendingVerification", "AWS has not verified the account yet"},
	{[]string{"MaxSpotInstanceCountExceeded"}, "SpotQuotaExceeded", "the account's quota of spot instances is used up"},
	{[]string{"VcpuLimitExceeded"}, "VCPULimitExceeded", "the account's quota of vCPUs is used up"},
	{[]string{NoFreeAddresses}, NoFreeAddresses, "the subnet has no free addresses"},
}

// Explain returns what the text of a launch error means.
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
