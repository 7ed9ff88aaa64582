package fault

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
)

func api(code, message string, fault smithy.ErrorFault) error {
	return fmt.Errorf("call: %w", &smithy.GenericAPIError{Code: code, Message: message, Fault: fault})
}

func TestQuestions(t *testing.T) {
	for _, tt := range []struct {
		name string
		ask  func(error) bool
		yes  error
		no   error
	}{
		{"not found", NotFound, api("InvalidInstanceID.NotFound", "", 0), api("UnauthorizedOperation", "", 0)},
		{"exists", Exists, api("EntityAlreadyExists", "", 0), api("NoSuchEntity", "", 0)},
		{"throttled", Throttled, api("RequestLimitExceeded", "", 0), api("InternalError", "", 0)},
		{"server", Server, api("InternalError", "", smithy.FaultServer), api("InvalidParameter", "", smithy.FaultClient)},
		{"role", RoleMissing, api("NoSuchEntity", "The role with name x cannot be found.", 0), api("NoSuchEntity", "no profile", 0)},
		{"profile", ProfileMissing, api("InvalidParameterValue", "Value (x) for parameter is invalid. Invalid IAM Instance Profile name", 0),
			api("InvalidParameterValue", "something else", 0)},
		{"user data", UserDataTooLong, api("InvalidUserData.Malformed", "User data is limited to 16384 bytes", 0),
			api("InvalidUserData.Malformed", "no base64", 0)},
	} {
		if !tt.ask(tt.yes) || tt.ask(tt.no) || tt.ask(nil) || tt.ask(errors.New("plain")) {
			t.Errorf("%s: yes %v, no %v", tt.name, tt.ask(tt.yes), tt.ask(tt.no))
		}
	}
	if Code(nil) != "" || Code(errors.New("x")) != "" {
		t.Error("a plain error has a code")
	}
	if !Unfulfillable("Unsupported") || Unfulfillable("UnauthorizedOperation") {
		t.Error("unfulfillable codes are mixed up")
	}
}

func TestExplain(t *testing.T) {
	for text, want := range map[string]string{
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted: no":   "SpotSLRCreationFailed",
		"UnauthorizedOperation: Not authorized for images: [ami]": "AMIAuthorizationFailure",
		"UnauthorizedOperation: no identity-based policy":         "Unauthorized",
		"AuthFailure: x": "Unauthorized",
		"InvalidParameter: they belong to different networks":       "SecurityGroupSubnetVPCMismatch",
		"InvalidParameter: other":                                   "LaunchFailed",
		"InvalidParameterValue: iamInstanceProfile.name is invalid": "InstanceProfileNameInvalid",
		"VcpuLimitExceeded: x":                                      "VCPULimitExceeded",
		"InsufficientFreeAddressesInSubnet: x":                      "InsufficientFreeAddressesInSubnet",
		"PendingVerification: x":                                    "AccountPendingVerification",
	} {
		if got := Explain(text); got.Reason != want || got.Message == "" {
			t.Errorf("%q: %+v, want %s", text, got, want)
		}
	}
}
