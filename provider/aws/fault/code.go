package fault

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Error codes that callers compare.
const (
	NoFreeAddresses  = "InsufficientFreeAddressesInSubnet"
	NoServiceRole    = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	NoLaunchTemplate = "InvalidLaunchTemplateName.NotFoundException"
	DryRun           = "DryRunOperation"
	Unauthorized     = "UnauthorizedOperation"
	ReservationFull  = "ReservationCapacityExceeded"
	NoResource       = "ResourceNotFoundException" // of EKS and ARC
	Invalid          = "ValidationException"       // of ARC
)

// Denied reports whether the caller lacks a permission, or AWS rejected its credentials.
func Denied(err error) bool {
	switch Code(err) {
	case Unauthorized, "AccessDenied", "AccessDeniedException", "AuthFailure", "UnrecognizedClientException":
		return true
	}
	return false
}

// OfOneInstance reports whether EC2 may have refused a call for several instances because of one of them: it is
// protected, the caller's permission does not hold for its tags, its state does not allow the call, or its id is
// malformed.
func OfOneInstance(err error) bool {
	switch Code(err) {
	case Unauthorized, "OperationNotPermitted", "InvalidInstanceID.Malformed", "IncorrectInstanceState", "UnsupportedOperation":
		return true
	}
	return false
}

// Unknown reports whether the service does not have the operation.
func Unknown(err error) bool {
	switch Code(err) {
	case "InvalidAction", "UnknownOperationException", "NotImplemented", "UnsupportedOperationException":
		return true
	}
	return false
}

// Quota reports whether a fleet's error code means that a quota of the account is used up. Then launches in all zones
// fail until other instances end.
func Quota(code string) bool {
	switch code {
	case "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "MaxFleetCountExceeded":
		return true
	}
	return false
}

var notFound = []string{
	"InvalidCapacityReservationId.NotFound",
	"InvalidPlacementGroup.Unknown",
	"InvalidPlacementGroupId.Unknown",
	"InvalidPlacementGroupId.NotFound",
	"InvalidInstanceID.NotFound",
	NoLaunchTemplate,
	"InvalidLaunchTemplateId.NotFound",
	"QueueDoesNotExist",
	"AWS.SimpleQueueService.NonExistentQueue",
	"NoSuchEntity",
	"ParameterNotFound",
}

var unfulfillable = []string{
	"InsufficientInstanceCapacity",
	"MaxSpotInstanceCountExceeded",
	"VcpuLimitExceeded",
	"UnfulfillableCapacity",
	"Unsupported",
	NoFreeAddresses,
	"MaxFleetCountExceeded",
	ReservationFull,
	"SpotMaxPriceTooLow",
	"InvalidCapacityReservationState.Unavailable",
	"InvalidCapacityReservationId.NotFound", // the reservation has ended, and the status of the class still lists it
	"InvalidCapacityReservationState",
}

// Code returns the error code of AWS, empty if there is none.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// NotFound reports whether the resource does not exist.
func NotFound(err error) bool { return slices.Contains(notFound, Code(err)) }

// Exists reports whether the resource to create exists already.
func Exists(err error) bool { return Code(err) == "EntityAlreadyExists" }

// Unfulfillable reports whether a fleet's error code means that one offering cannot be launched at
// present. Causes are missing capacity, a type that the zone does not offer, a full subnet, a
// quota, the maximum spot price, and a reservation that is full or has ended.
func Unfulfillable(code string) bool { return slices.Contains(unfulfillable, code) }

// Throttled reports whether AWS throttled the call.
func Throttled(err error) bool {
	switch Code(err) {
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException":
		return true
	}
	return false
}

// Server reports whether the error is a failure inside AWS, so that the same call may succeed later.
func Server(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer || broken(err)
}

// Transient reports whether the same call may succeed later although nothing is changed in the account: AWS failed inside,
// throttled the call, or did not answer it.
func Transient(err error) bool {
	var unsent *smithyhttp.RequestSendError
	return Server(err) || Throttled(err) || Foreign(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unsent)
}

// RoleMissing reports whether an error of IAM means that the role does not exist. It reads only the message of IAM, because the
// text of the SDK contains the name of the operation, such as AddRoleToInstanceProfile.
func RoleMissing(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "NoSuchEntity" && strings.Contains(strings.ToLower(api.ErrorMessage()), "role with name")
}

// ProfileMissing reports whether EC2 does not find the instance profile.
func ProfileMissing(err error) bool {
	return Code(err) == "InvalidParameterValue" && strings.Contains(err.Error(), "Invalid IAM Instance Profile name")
}

// UserDataTooLong reports whether the user data exceeds EC2's limit.
func UserDataTooLong(err error) bool {
	return Code(err) == "InvalidUserData.Malformed" && strings.Contains(err.Error(), "User data is limited to")
}
