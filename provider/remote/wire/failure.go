package wire

import (
	"cmp"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

// maxExhausted is the maximum number of exhausted offerings in a failure.
const maxExhausted = 5_000

// ReadFailure returns the error of package cloud that corresponds to a failure, an error of no particular type for a
// failure of unknown kind, and nil for no failure.
func ReadFailure(f *cloudv1.Failure) error {
	if f == nil {
		return nil
	}
	said := errors.New(cmp.Or(Text(f.GetMessage()), "the provider gave no reason"))
	switch f.GetKind() {
	case cloudv1.FailureKind_FAILURE_KIND_NOT_FOUND:
		return notFound{said}
	case cloudv1.FailureKind_FAILURE_KIND_INSUFFICIENT_CAPACITY:
		return &cloud.InsufficientCapacityError{Err: said}
	case cloudv1.FailureKind_FAILURE_KIND_NODE_CLASS_NOT_READY:
		return &cloud.NodeClassNotReadyError{Err: said}
	case cloudv1.FailureKind_FAILURE_KIND_LAUNCH:
		why := f.GetReason()
		if !reason.MatchString(why) {
			why = "LaunchFailed"
		}
		return &cloud.LaunchError{Reason: why, Message: said.Error(), Err: said}
	case cloudv1.FailureKind_FAILURE_KIND_REBOOT_NOT_SUPPORTED:
		return cloud.ErrRebootNotSupported
	case cloudv1.FailureKind_FAILURE_KIND_REBOOT_REFUSED:
		return &cloud.RebootError{Err: said}
	}
	return said
}

// A notFound is an ErrNotFound with the text of the provider.
type notFound struct{ error }

func (e notFound) Is(target error) bool { return target == cloud.ErrNotFound }

// ReadExhausted returns the exhausted offerings in a failure, and the time for which they are not used.
func ReadExhausted(f *cloudv1.Failure) (list []*cloudv1.OfferingKey, wait time.Duration, err error) {
	if err := atMost("exhausted offerings", len(f.GetExhausted()), maxExhausted); err != nil {
		return nil, 0, err
	}
	wait, err = durationOf(f.GetRetryAfter())
	if err == nil {
		err = checkDuration("retry_after", wait, maxRetry)
	}
	if wait == 0 {
		wait = defaultRetry
	}
	return f.GetExhausted(), wait, err
}

// WriteFailure returns the failure for an error that package cloud defines, nil for any other error.
func WriteFailure(err error) *cloudv1.Failure {
	var (
		capacity *cloud.InsufficientCapacityError
		class    *cloud.NodeClassNotReadyError
		launch   *cloud.LaunchError
		reboot   *cloud.RebootError
	)
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_NOT_FOUND, Message: err.Error()}
	case errors.Is(err, cloud.ErrRebootNotSupported):
		return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_REBOOT_NOT_SUPPORTED, Message: err.Error()}
	case errors.As(err, &capacity):
		return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_INSUFFICIENT_CAPACITY, Message: capacity.Err.Error()}
	case errors.As(err, &class):
		return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_NODE_CLASS_NOT_READY, Message: class.Err.Error()}
	case errors.As(err, &launch):
		return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_LAUNCH, Message: launch.Message, Reason: launch.Reason}
	case errors.As(err, &reboot):
		return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_REBOOT_REFUSED, Message: reboot.Err.Error()}
	}
	return nil
}

// RetryAfter returns a duration for a failure.
func RetryAfter(d time.Duration) *durationpb.Duration { return durationpb.New(d) }

// maxWait is the longest time by which one response may delay the registration of a node.
const maxWait = time.Hour

// ReadWait reads the time by which the registration of a node is delayed.
func ReadWait(d *durationpb.Duration) (time.Duration, error) {
	wait, err := durationOf(d)
	if err == nil {
		err = checkDuration("wait", wait, maxWait)
	}
	return wait, err
}

// ReadReason reads a reason of a condition. It may be empty.
func ReadReason(text string) (string, error) {
	if text != "" && !reason.MatchString(text) {
		return "", Reject(InvalidName, "%s is no reason of a condition", quoted(text))
	}
	return text, nil
}

// maxZones is the maximum number of zones with a zonal shift.
const maxZones = 1_000

// ReadZones reads names of zones. Names that cannot be label values, and names after the first maxZones, are omitted.
func ReadZones(zones []string) []string {
	var out []string
	for _, z := range zones {
		if len(out) < maxZones && z != "" && checkLabelValue("zone", z) == nil {
			out = append(out, z)
		}
	}
	return out
}
