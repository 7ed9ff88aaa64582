package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// regionName matches regions. Names of local and wavelength zones are longer and do not match.
var regionName = regexp.MustCompile(`^[a-z]+(-gov)?-[a-z]+-[0-9]+$`)

// regions returns every region with Linux on-demand prices, sorted by name, with the offers of source in it.
func regions(source []sourceType) []region {
	ids := zoneIDs(source)
	var out []region
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		r := region{Name: name, Zones: zones(name, ids[name])}
		for i, s := range source {
			linux := s.PricingBySoftware[name]["linux"]
			onDemand, spot := price(linux.OnDemand), price(linux.SpotAvg)
			if onDemand == 0 && spot == 0 {
				continue
			}
			r.Offers = append(r.Offers, [4]float64{float64(i), float64(zoneBits(r.Zones, s.Zones[name])), onDemand, spot})
		}
		out = append(out, r)
	}
	return out
}

// zoneIDs returns the zone IDs of each region that has a Linux on-demand price. If the source lists no zones of a region, it
// generates three IDs, such as use1-az1.
func zoneIDs(source []sourceType) map[string][]string {
	seen := map[string]map[string]bool{}
	for _, s := range source {
		for name, software := range s.PricingBySoftware {
			if !regionName.MatchString(name) || price(software["linux"].OnDemand) == 0 {
				continue
			}
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			for _, id := range s.Zones[name] {
				seen[name][id] = true
			}
		}
	}
	ids := map[string][]string{}
	for name, set := range seen {
		ids[name] = slices.Sorted(maps.Keys(set))
		if len(set) == 0 {
			for i := 1; i <= 3; i++ {
				ids[name] = append(ids[name], fmt.Sprintf("%s-az%d", abbreviate(name), i))
			}
		}
	}
	return ids
}

// zones returns the zones of the region with a letter for each zone ID. The number after "-az" in the ID is the position of
// the letter in the alphabet; IDs without one are omitted. us-east-1 has other letters: zone ID use1-az3 does not have most
// new instance types, and in most accounts it is zone e.
func zones(region string, ids []string) []zone {
	letters := map[string]byte{}
	if region == "us-east-1" {
		letters = map[string]byte{"use1-az4": 'c', "use1-az6": 'd', "use1-az3": 'e', "use1-az5": 'f'}
	}
	out := make([]zone, 0, len(ids))
	for _, id := range ids {
		letter, ok := letters[id]
		if !ok {
			_, number, _ := strings.Cut(id, "-az")
			n, err := strconv.Atoi(number)
			if err != nil {
				continue
			}
			letter = 'a' + byte(n-1)
		}
		out = append(out, zone{Name: region + string(letter), ID: id})
	}
	slices.SortFunc(out, func(a, b zone) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// zoneBits returns the zones among ids as bits. If ids is empty, all zones are set.
func zoneBits(zones []zone, ids []string) int {
	bits := 0
	for i, z := range zones {
		if len(ids) == 0 || slices.Contains(ids, z.ID) {
			bits |= 1 << i
		}
	}
	return bits
}

// abbreviate returns the prefix of a region's zone ids: use1 for us-east-1,
// apse3 for ap-southeast-3, usgw1 for us-gov-west-1.
func abbreviate(region string) string {
	parts := strings.Split(region, "-")
	out := parts[0]
	for _, part := range parts[1:] {
		switch part {
		case "northeast", "northwest", "southeast", "southwest":
			out += part[:1] + part[5:6]
		default:
			out += part[:1]
		}
	}
	return out
}
