package cloud

import (
	"errors"
	"fmt"
)

// ErrNotFound means that the instance does not exist any more. Delete, Get and Reboot return it, possibly wrapped.
var ErrNotFound = errors.New("instance not found")

// ErrRebootNotSupported means that the cloud cannot reboot instances. Reboot returns it, possibly wrapped.
var ErrRebootNotSupported = errors.New("rebooting instances is not supported")

// A RebootError means that the instance cannot be rebooted. A repeated call would fail, too.
type RebootError struct {
	Err error // the error of the cloud
}

func (e *RebootError) Error() string { return fmt.Sprintf("reboot refused: %v", e.Err) }

func (e *RebootError) Unwrap() error { return e.Err }

// An InsufficientCapacityError means that no offering that the claim allows has capacity now. It is not a fault. The
// claim is deleted, and its pods are planned again without the offerings that the provider knows to have no capacity.
type InsufficientCapacityError struct {
	Err error // the error of the cloud
}

func (e *InsufficientCapacityError) Error() string {
	return fmt.Sprintf("insufficient capacity: %v", e.Err)
}

func (e *InsufficientCapacityError) Unwrap() error { return e.Err }

// A NodeClassNotReadyError means that the node class does not exist, is being deleted, or is not resolved.
type NodeClassNotReadyError struct {
	Err error
}

func (e *NodeClassNotReadyError) Error() string {
	return fmt.Sprintf("node class not ready: %v", e.Err)
}

func (e *NodeClassNotReadyError) Unwrap() error { return e.Err }

// A LaunchError is a failed launch that may succeed later. It has the reason and the message for the claim's
// condition Launched.
type LaunchError struct {
	Reason  string // a condition reason, CamelCase
	Message string // one sentence for users
	Err     error
}

func (e *LaunchError) Error() string { return fmt.Sprintf("launch failed: %s: %v", e.Message, e.Err) }

func (e *LaunchError) Unwrap() error { return e.Err }

// Kind returns the name under which metrics count the error. It looks in the chain of the error for ErrNotFound,
// InsufficientCapacityError and NodeClassNotReadyError, in this order. For any other error it is "unknown".
func Kind(err error) string {
	var capacity *InsufficientCapacityError
	var class *NodeClassNotReadyError
	switch {
	case errors.Is(err, ErrNotFound):
		return "NodeClaimNotFoundError"
	case errors.As(err, &capacity):
		return "InsufficientCapacityError"
	case errors.As(err, &class):
		return "NodeClassNotReadyError"
	}
	return "unknown"
}
