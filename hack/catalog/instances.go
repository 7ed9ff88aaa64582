package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// sourceType has the used fields of one entry of instances.json.
type sourceType struct {
	InstanceType      string                            `json:"instance_type"`
	VCPU              int                               `json:"vCPU"`
	Memory            float64                           `json:"memory"` // GiB
	Arch              []string                          `json:"arch"`
	GPU               int                               `json:"GPU"`
	GPUMemory         float64                           `json:"GPU_memory"` // GiB, all GPUs
	GPUModel          string                            `json:"GPU_model"`
	Zones             map[string][]string               `json:"availability_zones"` // ids by region
	Regions           map[string]string                 `json:"regions"`
	BasePerformance   *float64                          `json:"base_performance"`
	Clock             string                            `json:"clock_speed_ghz"`
	EBSBaseline       int                               `json:"ebs_baseline_bandwidth"`
	EBSMax            int                               `json:"ebs_max_bandwidth"`
	Generation        string                            `json:"generation"`
	Network           string                            `json:"network_performance"`
	Processor         string                            `json:"physical_processor"`
	PlacementGroup    bool                              `json:"placement_group_support"`
	Storage           *sourceStorage                    `json:"storage"`
	PricingBySoftware map[string]map[string]sourcePrice `json:"pricing"` // by region, software
}

// sourceStorage is the instance store of a type.
type sourceStorage struct {
	Devices int  `json:"devices"`
	NVMe    bool `json:"nvme_ssd"`
	Size    int  `json:"size"` // GB, each
}

// sourcePrice is the price of a type with one kind of software, as text.
type sourcePrice struct {
	OnDemand string `json:"ondemand"`
	SpotAvg  string `json:"spot_avg"`
}

// UnmarshalJSON accepts price entries whose fields are not text (emr, dedicated). Only Linux prices are used.
func (p *sourcePrice) UnmarshalJSON(data []byte) error {
	var raw struct {
		OnDemand any `json:"ondemand"`
		SpotAvg  any `json:"spot_avg"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil //nolint:nilerr // an entry of another shape is not a Linux price
	}
	p.OnDemand, _ = raw.OnDemand.(string)
	p.SpotAvg, _ = raw.SpotAvg.(string)
	return nil
}

// readInstances reads instances.json.
func readInstances(path string) ([]sourceType, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read instances: %w", err)
	}
	var types []sourceType
	if err := json.Unmarshal(data, &types); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	return types, nil
}

// price parses a price. It returns 0 if text is not a number or negative.
func price(text string) float64 {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || p < 0 {
		return 0
	}
	return p
}

// clock parses "3.7 GHz" and "Up to 3.7 GHz". It returns 0 for other texts.
func clock(text string) float64 {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "Up to "), " GHz")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return f
}

// bandwidth parses "25 Gigabit", "Up to 10 Gigabit" and "4x 100 Gigabit" to
// Mbps. It returns 0 for words such as "Moderate"; upTo distinguishes a burst limit
// from a fixed bandwidth.
func bandwidth(text string) (mbps int, upTo bool) {
	text, upTo = strings.CutPrefix(text, "Up to ")
	text, ok := strings.CutSuffix(text, " Gigabit")
	if !ok {
		return 0, upTo
	}
	cards := 1
	if n, rest, ok := strings.Cut(text, "x "); ok {
		if c, err := strconv.Atoi(n); err == nil {
			cards, text = c, rest
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, upTo
	}
	return int(math.Round(f*1000)) * cards, upTo
}
