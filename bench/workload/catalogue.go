package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// catalogues are the sets of instance types, by name.
var catalogues = map[string]func() ([]catalogue.Type, error){
	"all": func() ([]catalogue.Type, error) { return ec2(func(string, int) bool { return true }) },
	"noburst": func() ([]catalogue.Type, error) {
		return ec2(func(category string, _ int) bool { return category != "t" })
	},
	"cmr6": func() ([]catalogue.Type, error) { return ec2(generalPurpose) },
	"first400": func() ([]catalogue.Type, error) {
		types, err := ec2(func(string, int) bool { return true })
		return types[:min(len(types), 400)], err
	},
	"synthetic400": func() ([]catalogue.Type, error) { return synthetic(400), nil },
	"kwok":         func() ([]catalogue.Type, error) { return generic(), nil },
}

// generalPurpose selects commonly allowed types: the families c, m and r of generation 6 and later.
func generalPurpose(category string, generation int) bool {
	return (category == "c" || category == "m" || category == "r") && generation >= 6
}

// Catalogue returns the named catalogue. The names are all, noburst (without the t families), cmr6 (families c, m and
// r of generation 6 and later) and first400 (the first 400 by name), all of EC2 in us-east-1, synthetic400 (400
// artificial types of 1 to 400 cores), and kwok (the types of the KWOK provider).
func Catalogue(name string) ([]catalogue.Type, error) {
	make, ok := catalogues[name]
	if !ok {
		return nil, fmt.Errorf("types %q are not known, use one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(catalogues)), ", "))
	}
	return make()
}
