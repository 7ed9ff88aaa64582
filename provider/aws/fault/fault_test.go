package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func api(code, message string, fault smithy.ErrorFault) error {
	return fmt.Errorf("call: %w", &smithy.OperationError{
		ServiceID: "IAM", OperationName: "AddRoleToInstanceProfile",
		Err: &smithy.GenericAPIError{Code: code, Message: message, Fault: fault},
	})
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
		{"transient", Transient, api("ThrottlingException", "", 0), api("AccessDeniedException", "", smithy.FaultClient)},
		{"transient without a response", Transient, fmt.Errorf("call: %w", &smithyhttp.RequestSendError{Err: errors.New("refused")}),
			api("ResourceNotFoundException", "", smithy.FaultClient)},
		{"transient after a timeout", Transient, fmt.Errorf("call: %w", context.DeadlineExceeded), context.Canceled},
		{"role", RoleMissing, api("NoSuchEntity", "The role with name x cannot be found.", 0),
			api("NoSuchEntity", "Instance Profile c_1 cannot be found.", 0)},
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
	for _, code := range []string{
		"InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity", "Unsupported",
		"InsufficientFreeAddressesInSubnet", "MaxFleetCountExceeded", "SpotMaxPriceTooLow", "ReservationCapacityExceeded",
		"InvalidCapacityReservationState.Unavailable",
	} {
		if !Unfulfillable(code) {
			t.Errorf("%s does not count as a lack of capacity", code)
		}
	}
	if Unfulfillable("UnauthorizedOperation") {
		t.Error("a missing permission counts as a lack of capacity")
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
		if got := Explain(errors.New(text)); got.Reason != want || got.Message == "" {
			t.Errorf("%q: %+v, want %s", text, got, want)
		}
	}
}

// The message has the cause of EC2 if a user needs it, and nothing that differs between attempts.
func TestExplainCause(t *testing.T) {
	fleet := func(err error) error {
		return fmt.Errorf("create fleet: %w", &smithy.OperationError{ServiceID: "EC2", OperationName: "CreateFleet", Err: err})
	}
	refused := func(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fleet(refused("InvalidBlockDeviceMapping", "Volume of size 1GB is smaller than snapshot")),
			"AWS did not launch the instance: EC2 CreateFleet: InvalidBlockDeviceMapping: Volume of size 1GB is smaller than snapshot"},
		{errors.New("Whatever: it is broken, RequestID: 0a1b-2c"), "AWS did not launch the instance: Whatever: it is broken"},
		{errors.New("Whatever: no (Request ID: 0a1b)"), "AWS did not launch the instance: Whatever: no"},
		{errors.New("KmsDenied: not allowed. Encoded authorization failure message: aBc-_12"), "AWS did not launch the instance: KmsDenied: not allowed"},
		{errors.New("read tcp 10.0.0.1:53211->10.0.0.2:443: connection reset by peer"),
			"AWS did not launch the instance: read tcp 10.0.0.2:443: connection reset by peer"},
		{errors.New("InvalidAMIID.NotFound: The image id '[ami-1]' does not exist"),
			"AMI does not exist: InvalidAMIID.NotFound: The image id '[ami-1]' does not exist"},
		{errors.New("UnauthorizedOperation: Not authorized for images: [ami-1]"), "Account is not authorized to launch the AMI: " +
			"UnauthorizedOperation: Not authorized for images: [ami-1]; fix: share the AMI with the account"},
		{errors.New("UnauthorizedOperation: no. Encoded authorization failure message: aBc"),
			"Controller role is not authorized to launch instances; fix: karpenter doctor aws lists missing permissions"},
	} {
		if got := Explain(tt.err).Message; got != tt.want {
			t.Errorf("%v:\n%s\nwant:\n%s", tt.err, got, tt.want)
		}
	}
}

// answer returns the error that the SDK returns for an HTTP response.
func answer(status int, err error) error {
	return &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribePlacementGroups", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}}
}

func TestBrief(t *testing.T) {
	page := answer(500, &smithy.GenericAPIError{Code: "UnknownError", Message: "UnknownError"})
	for _, tt := range []struct {
		name    string
		err     error
		want    string
		foreign bool
		server  bool
	}{
		{"a page", page, "EC2 DescribePlacementGroups: unexpected HTTP 500 response, not from AWS: check proxy and endpoint settings", true, true},
		{"nothing to be read", answer(502, &smithy.DeserializationError{Err: errors.New("EOF")}),
			"EC2 DescribePlacementGroups: unexpected HTTP 502 response, not from AWS: check proxy and endpoint settings", true, true},
		{"what the SDK cannot read", answer(500, errors.New("XML syntax error on line 2")),
			"EC2 DescribePlacementGroups: unexpected HTTP 500 response, not from AWS: check proxy and endpoint settings", true, true},
		{"an error of AWS", answer(400, &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "no"}),
			"EC2 DescribePlacementGroups: UnauthorizedOperation: no", false, false},
		{"silence", &smithy.OperationError{ServiceID: "EC2", OperationName: "X", Err: context.DeadlineExceeded},
			"EC2 X: no answer in time", false, false},
		{"no connection", &smithy.OperationError{ServiceID: "EC2", OperationName: "X", Err: &smithyhttp.RequestSendError{
			Err: &url.Error{Op: "Post", URL: "https://x", Err: errors.New("dial tcp: connection refused")}}},
			"EC2 X: no connection: dial tcp: connection refused", false, false},
		{"two lines", errors.New("a\n  b"), "a b", false, false},
		{"none", nil, "", false, false},
	} {
		if got := Brief(tt.err); got != tt.want || Foreign(tt.err) != tt.foreign || Server(tt.err) != tt.server {
			t.Errorf("%s: %q, foreign %v, server %v", tt.name, got, Foreign(tt.err), Server(tt.err))
		}
	}
}
