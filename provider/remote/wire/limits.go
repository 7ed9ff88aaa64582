package wire

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The limits for messages of a provider.
const (
	// MaxMessage is the largest message in bytes.
	MaxMessage = 16 << 20
	// MaxTypes is the maximum number of instance types of a node class. MaxOfferings is the maximum number of their
	// offerings.
	MaxTypes     = 5_000
	MaxOfferings = 200_000
	// MaxInstances is the maximum number of instances in a list.
	MaxInstances = 200_000
	// MaxNotices is the maximum number of notices in a batch.
	MaxNotices = 1_000

	maxOfferingsOfType = 2_000
	maxRequirements    = 256
	maxValues          = 2_000
	maxResources       = 64
	maxAttachLimits    = 64
	maxDevices         = 512
	maxTemplates       = 32
	maxDeviceFields    = 64
	maxLabels          = 512
	maxAnnotations     = 64
	maxAnnotationBytes = 8 << 10
	maxText            = 1 << 10
	maxProviderID      = 512
	maxPolicies        = 64
	maxKinds           = 16
	maxPrefixes        = 16
	// maxPrice is in dollars per hour. The most expensive machines of any cloud cost less than a hundredth of it.
	maxPrice = 100_000
)

// A Rejection is the error for a message of a provider that breaks a rule of the protocol.
type Rejection struct {
	// Reason is the rule, a label value in metrics.
	Reason Reason
	Err    error
}

// A Reason is the kind of a Rejection.
type Reason string

// The reasons of rejections.
const (
	TooMany       Reason = "too_many"
	InvalidName   Reason = "invalid_name"
	InvalidAmount Reason = "invalid_amount"
	InvalidPrice  Reason = "invalid_price"
	Contradiction Reason = "contradiction"
	Missing       Reason = "missing"
	WrongInstance Reason = "wrong_instance"
)

func (r *Rejection) Error() string { return "the provider sent an invalid answer: " + r.Err.Error() }

// Unwrap returns the cause.
func (r *Rejection) Unwrap() error { return r.Err }

// Reject returns a Rejection.
func Reject(reason Reason, format string, args ...any) error {
	return &Rejection{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// within adds the name of the object that was read to the text of a Rejection.
func within(err error, format string, args ...any) error {
	var r *Rejection
	if errors.As(err, &r) {
		return &Rejection{Reason: r.Reason, Err: fmt.Errorf(format+": %w", append(args, r.Err)...)}
	}
	return err
}

func atMost(what string, n, most int) error {
	if n > most {
		return Reject(TooMany, "%d %s, at most %d are allowed", n, what, most)
	}
	return nil
}

// Text returns text of a provider for users, without control characters and with limited length.
func Text(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}

// quoted returns a name from a message in a form that is short enough for an error.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}

var (
	// quantity matches the quantities that are accepted. It allows no exponents, because arithmetic with a large exponent
	// takes too long.
	quantity = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,9})?(n|u|m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$`)
	// reason matches reasons of conditions.
	reason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,253}[A-Za-z0-9_])?$`)
	// providerName matches names of providers.
	providerName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$`)
)

// maxAmount is the largest amount of a resource. Even in thousandths it fits into an int64.
const maxAmount = 1e15

// readQuantities reads amounts of resources.
func readQuantities(amounts map[string]string) (corev1.ResourceList, error) {
	if err := atMost("resources", len(amounts), maxResources); err != nil {
		return nil, err
	}
	out := make(corev1.ResourceList, len(amounts))
	for name, text := range amounts {
		if len(validation.IsQualifiedName(name)) > 0 {
			return nil, Reject(InvalidName, "%s is no name of a resource", quoted(name))
		}
		q, err := readQuantity(text)
		if err != nil {
			return nil, within(err, "resource %s", name)
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, nil
}

func readQuantity(text string) (resource.Quantity, error) {
	if !quantity.MatchString(text) {
		return resource.Quantity{}, Reject(InvalidAmount, "%s is no amount, use for example 4, 500m or 16Gi", quoted(text))
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.AsApproximateFloat64() > maxAmount {
		return resource.Quantity{}, Reject(InvalidAmount, "%s is out of range", quoted(text))
	}
	return q, nil
}

// checkPrice checks a price in dollars per hour.
func checkPrice(price float64) error {
	if math.IsNaN(price) || price < 0 || price > maxPrice {
		return Reject(InvalidPrice, "price %v is out of range 0 to %d dollars per hour", price, maxPrice)
	}
	return nil
}

func checkLabelKey(key string) error {
	if len(validation.IsQualifiedName(key)) > 0 {
		return Reject(InvalidName, "%s is no key of a label", quoted(key))
	}
	return nil
}

func checkLabelValue(key, value string) error {
	if len(validation.IsValidLabelValue(value)) > 0 {
		return Reject(InvalidName, "%s is no value of label %s", quoted(value), key)
	}
	return nil
}

// checkDuration checks a duration in a message.
func checkDuration(what string, d, most time.Duration) error {
	if d < 0 || d > most {
		return Reject(InvalidAmount, "%s %s is out of range 0 to %s", what, d, most)
	}
	return nil
}
