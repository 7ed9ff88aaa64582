package apitest

import "fmt"

// bound is the maximum number of entries of a list or map.
type bound struct {
	file string
	// what is the name of the field in words.
	what string
	most int
	// spec returns the change of the base object's spec that sets n entries.
	spec func(n int) map[string]any
}

// bounds has the lists and maps whose maximum is tested with generated entries.
// Other maxima have cases in testdata.
var bounds = []bound{
	{"nodepool", "requirements", 100, func(n int) map[string]any {
		return template("spec", map[string]any{"requirements": repeat(n, exists)})
	}},
	{"nodepool", "labels", 100, func(n int) map[string]any {
		return template("metadata", map[string]any{"labels": named(n)})
	}},
	{"nodepool", "budgets", 50, func(n int) map[string]any {
		return map[string]any{"disruption": map[string]any{"budgets": repeat(n, func(int) any {
			return map[string]any{"nodes": "1"}
		})}}
	}},
	{"nodeclaim", "requirements", 100, func(n int) map[string]any { return map[string]any{"requirements": repeat(n, exists)} }},
	{"nodeoverlay", "requirements", 100, func(n int) map[string]any { return map[string]any{"requirements": repeat(n, exists)} }},
	{"ec2nodeclass", "subnet terms", 30, terms("subnetSelectorTerms", "subnet-1")},
	{"ec2nodeclass", "security group terms", 30, terms("securityGroupSelectorTerms", "sg-1")},
	{"ec2nodeclass", "reservation terms", 30, terms("capacityReservationSelectorTerms", "cr-1")},
	{"ec2nodeclass", "image terms", 30, func(n int) map[string]any {
		spec := terms("amiSelectorTerms", "ami-1")(n)
		spec["amiFamily"] = "AL2023"
		return spec
	}},
	{"ec2nodeclass", "tags of subnets", 20, tags("subnetSelectorTerms")},
	{"ec2nodeclass", "tags of security groups", 20, tags("securityGroupSelectorTerms")},
	{"ec2nodeclass", "tags of reservations", 20, tags("capacityReservationSelectorTerms")},
	{"ec2nodeclass", "tags of images", 20, func(n int) map[string]any {
		spec := tags("amiSelectorTerms")(n)
		spec["amiFamily"] = "AL2023"
		return spec
	}},
	{"ec2nodeclass", "disks", 50, func(n int) map[string]any {
		return map[string]any{"blockDeviceMappings": repeat(n, func(i int) any {
			return map[string]any{"deviceName": fmt.Sprintf("/dev/disk%d", i)}
		})}
	}},
	{"ec2nodeclass", "network interfaces", 150, func(n int) map[string]any {
		return map[string]any{"networkInterfaces": repeat(n, func(i int) any {
			return map[string]any{"networkCardIndex": int64(0), "deviceIndex": int64(i), "interfaceType": "interface"}
		})}
	}},
}

// atBounds returns two cases for each bound of a file: one with the maximum
// number of entries, and one with one entry more.
func atBounds(file string, base map[string]any) []Case {
	var list []Case
	for i, b := range bounds {
		if b.file != file {
			continue
		}
		for more, want := range []string{OK, fmt.Sprintf("must have at most %d items", b.most)} {
			n := b.most + more
			list = append(list, Case{
				Name:    fmt.Sprintf("%s/%d %s", file, n, b.what),
				Object:  object(base, map[string]any{"spec": b.spec(n)}, fmt.Sprintf("%s-bound-%d-%d", file, i, more)),
				WantErr: want,
			})
		}
	}
	return list
}

func template(part string, change map[string]any) map[string]any {
	return map[string]any{"template": map[string]any{part: change}}
}

func repeat(n int, entry func(i int) any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = entry(i)
	}
	return list
}

func exists(i int) any {
	return map[string]any{"key": fmt.Sprintf("example.com/label-%d", i), "operator": "Exists"}
}

func named(n int) map[string]any {
	names := make(map[string]any, n)
	for i := range n {
		names[fmt.Sprintf("name-%d", i)] = "x"
	}
	return names
}

func terms(field, id string) func(n int) map[string]any {
	return func(n int) map[string]any {
		return map[string]any{field: repeat(n, func(int) any { return map[string]any{"id": id} })}
	}
}

func tags(field string) func(n int) map[string]any {
	return func(n int) map[string]any {
		return map[string]any{field: []any{map[string]any{"tags": named(n)}}}
	}
}
