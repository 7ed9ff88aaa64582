package wire

import (
	"cmp"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

// maxExhausted is the number of offerings that a failure may call exhausted.
const maxExhausted = 5_000

// ReadFailure returns the error of the contract for a failure, nil for none.
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

// A notFound is an ErrNotFound with what the provider said.
type notFound struct{ error }

func (e notFound) Is(target error) bool { return target == cloud.ErrNotFound }

// ReadExhausted returns the offerings that a failure calls exhausted, and for how long.
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

// WriteFailure returns the failure for an error of the contract, nil if the error is of no kind that the contract knows.
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

// maxWait is the longest time for which a provider may hold back a registration at once.
const maxWait = time.Hour

// ReadWait reads how long a registration is held back.
func ReadWait(d *durationpb.Duration) (time.Duration, error) {
	wait, err := durationOf(d)
	if err == nil {
		err = checkDuration("wait", wait, maxWait)
	}
	return wait, err
}

// ReadReason reads a reason of a condition, empty for none.
func ReadReason(text string) (string, error) {
	if text != "" && !reason.MatchString(text) {
		return "", Reject(InvalidName, "%s is no reason of a condition", quoted(text))
	}
	return text, nil
}

// maxZones is the number of zones that may be shifted away.
const maxZones = 1_000

// ReadZones reads names of zones. Those that are no values of a label are left out.
func ReadZones(zones []string) []string {
	var out []string
	for _, z := range zones {
		if len(out) < maxZones && z != "" && checkLabelValue("zone", z) == nil {
			out = append(out, z)
		}
	}
	return out
}
