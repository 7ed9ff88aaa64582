package convert

import (
	"strings"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// IsLegacy reports whether Convert converts an object: one of an older API version, or one of v1 with fields that only older
// versions had. object is its JSON.
func IsLegacy(apiVersion, kind string, object []byte) bool {
	if legacy.FormOf(apiVersion, kind) != legacy.Foreign {
		return true
	}
	if !strings.Contains(apiVersion, "karpenter") {
		return false
	}
	root, err := parse(string(object))
	if err != nil || len(root.Content) == 0 {
		return false
	}
	form, _ := mislabelled(root.Content[0])
	return form != legacy.Foreign
}
