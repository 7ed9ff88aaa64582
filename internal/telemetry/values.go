package telemetry

import (
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// ResourceType returns the value of the label resource_type for a resource: the name in lower case, with underscores for hyphens.
// Slashes and dots are kept.
func ResourceType(name corev1.ResourceName) string {
	return strings.ToLower(strings.ReplaceAll(string(name), "-", "_"))
}

// SnakeCase returns a name of the API as a label value: WhenEmptyOrUnderutilized becomes when_empty_or_underutilized. An
// abbreviation is one word: KWOKUnhealthy becomes kwok_unhealthy.
func SnakeCase(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if unicode.IsUpper(r) && i > 0 {
			after := unicode.IsLower(letters[i-1]) || unicode.IsDigit(letters[i-1])
			before := i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if after || before {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// MaxMessage is the maximum length in bytes of the message of an event, and of a condition about a failed launch.
const MaxMessage = 1024

// Cut returns s in one line, shortened to at most MaxMessage bytes of whole characters. Lines are joined by "; ". A text that was
// shortened ends in three dots.
func Cut(s string) string {
	const dots = "..."
	if strings.ContainsAny(s, "\r\n") {
		lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\r' || r == '\n' })
		s = strings.Join(lines, "; ")
	}
	if len(s) <= MaxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:MaxMessage-len(dots)], "") + dots
}
