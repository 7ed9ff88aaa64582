package prices

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
)

// A Commitment is on-demand capacity that is paid for whether nodes use it or not. Nodes that it covers cost nothing more;
// further nodes cost their list price, less a discount. Exactly one of Instances and USDPerHour is set.
type Commitment struct {
	// Name is unique and shown to users.
	Name string `json:"name"`
	// Match selects the instance types. It must not have CapacityTypes.
	Match Match `json:"match,omitempty"`
	// Zones are the zones in which the commitment covers nodes, such as eu-west-1a; empty means all.
	Zones []string `json:"zones,omitempty"`
	// Instances is the number of reserved instances. Without Size, each covers one node of any matching type. With Size,
	// such as large, each covers one node of that size. It covers nodes of the other sizes in proportion: half of an xlarge.
	Instances int    `json:"instances,omitempty"`
	Size      string `json:"size,omitempty"`
	// USDPerHour is the commitment of a Savings Plan in dollars per hour. A node uses its list price, reduced by Percent,
	// which is from 0 to less than 100.
	USDPerHour float64 `json:"usdPerHour,omitempty"`
	Percent    float64 `json:"percent,omitempty"`

	units int64
	made  *commitment.Commitment
}

const (
	// maxInstances is the largest number of instances of a commitment.
	maxInstances = 1_000_000
	// microsPerUSD: the unit of a Savings Plan is a millionth of a dollar per hour.
	microsPerUSD = 1_000_000
)

// prepareCommitments checks the commitments and computes their units. The errors name the fields.
func (r *Rules) prepareCommitments() []error {
	var errs []error
	seen := map[string]bool{}
	for n := range r.Commitments {
		c := &r.Commitments[n]
		wrong := func(field, format string, args ...any) {
			errs = append(errs, fmt.Errorf("commitments[%d].%s: %s", n, field, fmt.Sprintf(format, args...)))
		}
		switch {
		case c.Name == "":
			wrong("name", "is empty; give each commitment a name of its own")
		case seen[c.Name]:
			wrong("name", "%q is the name of another commitment too", c.Name)
		}
		seen[c.Name] = true
		if len(c.Match.CapacityTypes) > 0 {
			wrong("match.capacityTypes", "commitments are for on-demand only; remove the field")
		}
		switch {
		case (c.Instances != 0) == (c.USDPerHour != 0):
			wrong("instances", "set either instances (reserved instances) or usdPerHour (a Savings Plan)")
		case c.Instances < 0 || c.Instances > maxInstances:
			wrong("instances", "%d is not from 1 to %d", c.Instances, maxInstances)
		case !(c.USDPerHour >= 0 && c.USDPerHour <= maxFee): // also true for NaN
			wrong("usdPerHour", "%v is not from 0 to %d", c.USDPerHour, maxFee)
		case !(c.Percent >= 0 && c.Percent < 100): // also true for NaN
			wrong("percent", "%v is not from 0 to below 100", c.Percent)
		case c.Instances > 0 && c.Percent != 0:
			wrong("percent", "is for usdPerHour only; reserved instances cost nothing more")
		case c.Size != "" && c.Instances == 0:
			wrong("size", "is for instances only; remove the field")
		}
		if err := c.prepare(n); err != nil {
			wrong("size", "%v", err)
		}
	}
	return errs
}

// prepare computes units, and made, which is the commitment for package engine/commitment. order is its index in the price
// book. The error is about Size.
func (c *Commitment) prepare(order int) error {
	c.units = int64(c.Instances)
	if c.USDPerHour > 0 {
		c.units = int64(min(math.Round(c.USDPerHour*microsPerUSD), commitment.MaxUnits))
	}
	var err error
	if c.Size != "" {
		size, ok := quartersOf(c.Size)
		if !ok {
			err = errors.New(strconv.Quote(c.Size) + " is not a size such as large or 2xlarge")
		}
		c.units *= size
	}
	c.made = &commitment.Commitment{ID: c.Name, Order: order, Units: c.units}
	return err
}

// Covers returns the commitments that cover on-demand instances of the type in the zone, in the order in which they
// apply. list is the list price in dollars per hour, 0 if it is not known. fees is the price of an instance that they
// cover wholly, 0 if there are no commitments.
func (r *Rules) Covers(instanceType, zone string, list float64) (covers []commitment.Cover, fees float64) {
	for i := range r.Commitments {
		c := &r.Commitments[i]
		if !c.Match.names(instanceType) || len(c.Zones) > 0 && !slices.Contains(c.Zones, zone) {
			continue
		}
		if use := c.use(instanceType, list); use > 0 {
			covers = append(covers, commitment.Cover{Commitment: c.made, Use: use})
		}
	}
	if len(covers) > 0 {
		fees = r.fees(instanceType, apiv1.CapacityTypeOnDemand)
	}
	return covers, fees
}

// use returns how many units a node of the type uses, 0 if the commitment does not cover it.
func (c *Commitment) use(instanceType string, list float64) int64 {
	switch {
	case c.USDPerHour > 0:
		use := math.Round(list * (100 - c.Percent) / 100 * microsPerUSD)
		if !(use >= 1 && use <= commitment.MaxUnits) {
			return 0
		}
		return int64(use)
	case c.Size != "":
		_, size, _ := strings.Cut(instanceType, ".")
		quarters, _ := quartersOf(size)
		return quarters
	}
	return 1
}

// quartersOf returns the normalization factor of an instance size, in quarters: 16 for large. ok is false for other texts. The
// factors are those by which EC2 applies reserved instances to other sizes of a family. Metal sizes have none here.
func quartersOf(size string) (quarters int64, ok bool) {
	switch size {
	case "nano":
		return 1, true
	case "micro":
		return 2, true
	case "small":
		return 4, true
	case "medium":
		return 8, true
	case "large":
		return 16, true
	case "xlarge":
		return 32, true
	}
	times, found := strings.CutSuffix(size, "xlarge")
	n, err := strconv.ParseInt(times, 10, 32)
	if !found || err != nil || n < 1 || n > 1000 {
		return 0, false
	}
	return 32 * n, true
}
