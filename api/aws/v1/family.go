package v1

import "strings"

// aliasFamilies are the families an alias can name.
var aliasFamilies = map[string]string{
	"al2":          AMIFamilyAL2,
	"al2023":       AMIFamilyAL2023,
	"bottlerocket": AMIFamilyBottlerocket,
	"windows2019":  AMIFamilyWindows2019,
	"windows2022":  AMIFamilyWindows2022,
	"windows2025":  AMIFamilyWindows2025,
}

// Alias is an image alias, taken apart.
type Alias struct {
	// Family is one of the AMI families, never AMIFamilyCustom.
	Family string
	// Version is AliasVersionLatest, or a version AWS published.
	Version string
}

// Alias returns the alias of the class. ok is false if it has none, or one the
// schema would refuse.
func (c *EC2NodeClass) Alias() (alias Alias, ok bool) {
	for _, term := range c.Spec.AMISelectorTerms {
		name, version, found := strings.Cut(term.Alias, "@")
		if family := aliasFamilies[name]; found && family != "" && version != "" {
			return Alias{Family: family, Version: version}, true
		}
	}
	return Alias{}, false
}

// ResolvedAMIFamily is the family user data is written for: the one the class
// names, else that of its alias, else AMIFamilyCustom.
func (c *EC2NodeClass) ResolvedAMIFamily() string {
	if c.Spec.AMIFamily != nil {
		return *c.Spec.AMIFamily
	}
	if alias, ok := c.Alias(); ok {
		return alias.Family
	}
	return AMIFamilyCustom
}
