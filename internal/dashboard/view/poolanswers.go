package view

import "time"

// A Pool is a NodePool.
type Pool struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
	Ready  bool   `json:"ready"`
	// Problem is the reason why the NodePool launches no nodes, Fix the change that helps. Both are empty if there is no
	// problem.
	Problem string `json:"problem"`
	Fix     string `json:"fix"`
	Nodes   int    `json:"nodes"`
	// DollarsPerHour does not include nodes whose price is not known. Unpriced is the number of those that have an instance.
	DollarsPerHour *float64  `json:"dollarsPerHour"`
	Unpriced       int       `json:"unpriced"`
	Limits         []Limit   `json:"limits"`
	Budgets        []Budget  `json:"budgets"`
	Requirements   []string  `json:"requirements"`
	Types          []TypeRow `json:"types"`
	TypesTotal     int       `json:"typesTotal"`
	Drifted        int       `json:"drifted"`
	Unhealthy      int       `json:"unhealthy"`
}

// A Limit is a limit of a NodePool. Used and Limit are in cores for cpu and in units of the resource otherwise. Text has
// both as quantities.
type Limit struct {
	Resource string  `json:"resource"`
	Used     float64 `json:"used"`
	Limit    float64 `json:"limit"`
	Text     string  `json:"text"`
}

// A Budget is a disruption budget of a NodePool.
type Budget struct {
	Nodes    string   `json:"nodes"`
	Reasons  []string `json:"reasons"`
	Schedule string   `json:"schedule"`
	Duration string   `json:"duration"`
	// Allowed is the number of nodes whose disruption the budget allows now, without regard to other budgets. It is null
	// while the budget is not active.
	Allowed *int `json:"allowed"`
	// Windows are the periods of the next seven days in which the budget is active, each with begin and end. The list is
	// empty for a budget without a schedule, which is always active.
	Windows [][2]time.Time `json:"windows"`
}

// A TypeRow is an instance type that a NodePool may launch. DollarsPerHour is the price of its cheapest offering that can be
// launched now, null if there is none.
type TypeRow struct {
	Name           string   `json:"name"`
	CPU            float64  `json:"cpu"`
	Memory         int64    `json:"memory"`
	GPU            int64    `json:"gpu"`
	DollarsPerHour *float64 `json:"dollarsPerHour"`
	CapacityTypes  []string `json:"capacityTypes"`
	Zones          []string `json:"zones"`
	Nodes          int      `json:"nodes"`
}

// Capacity has the interruptions, the offerings that cannot be launched, the reservations, the spot nodes by zone, and the
// demand for devices.
type Capacity struct {
	Interruptions []Interruption `json:"interruptions"`
	Refused       []RefusedOffer `json:"refused"`
	Reservations  []Reservation  `json:"reservations"`
	Spot          []SpotZone     `json:"spot"`
	// Devices is the demand for devices by dynamic resource allocation.
	Devices Devices `json:"devices"`
}

// An Interruption is a notice of the cloud to which Karpenter reacted.
type Interruption struct {
	Time time.Time `json:"time"`
	Node string    `json:"node"`
	Type string    `json:"type"`
	Zone string    `json:"zone"`
	Kind string    `json:"kind"`
}

// A RefusedOffer is a group of offerings that cannot be launched now. The offerings have the same zone, family of types and
// capacity type.
type RefusedOffer struct {
	Zone         string   `json:"zone"`
	Family       string   `json:"family"`
	CapacityType string   `json:"capacityType"`
	Types        []string `json:"types"`
	// Until is the time from which the offerings are tried again, null if that is not known.
	Until  *time.Time `json:"until"`
	Reason string     `json:"reason"`
}

// A Reservation is reserved capacity of the cloud. Used is the number of nodes of this cluster in it. Total is Used and the
// free capacity.
type Reservation struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Zone  string `json:"zone"`
	Total int    `json:"total"`
	Used  int    `json:"used"`
}

// A SpotZone has the spot nodes of a zone.
type SpotZone struct {
	Zone           string   `json:"zone"`
	Nodes          int      `json:"nodes"`
	DollarsPerHour *float64 `json:"dollarsPerHour"`
	Unpriced       int      `json:"unpriced"`
}

// A WhatIfRequest is a change whose effect is computed. Nothing is applied.
type WhatIfRequest struct {
	// Manifests is YAML text with NodePools and workloads. They are added, or replace those of the same name.
	Manifests    string   `json:"manifests"`
	WithoutNodes []string `json:"withoutNodes"`
	// Prices are prices in dollars per hour. The key is an instance type, or type/zone/capacityType.
	Prices map[string]float64 `json:"prices"`
}

// A WhatIfSide is a summary of the fleet with or without the change, as it would be after the next plan and the next
// decision of disruption. Pending is the number of pods that the plan refuses.
type WhatIfSide struct {
	Nodes          int      `json:"nodes"`
	DollarsPerHour float64  `json:"dollarsPerHour"`
	FloorPerHour   *float64 `json:"floorPerHour"`
	Pending        int      `json:"pending"`
	Evictions      int      `json:"evictions"`
}

// A WhatIf is the effect of a change.
type WhatIf struct {
	Before   WhatIfSide      `json:"before"`
	After    WhatIfSide      `json:"after"`
	Launches []WhatIfLaunch  `json:"launches"`
	Removals []WhatIfRemoval `json:"removals"`
	Drifted  []string        `json:"drifted"`
	Refused  []WhatIfRefusal `json:"refused"`
	Warnings []string        `json:"warnings"`
}

// A WhatIfLaunch is a number of equal nodes that would be launched.
type WhatIfLaunch struct {
	Pool           string   `json:"pool"`
	Type           string   `json:"type"`
	CapacityType   string   `json:"capacityType"`
	Zone           string   `json:"zone"`
	Count          int      `json:"count"`
	DollarsPerHour *float64 `json:"dollarsPerHour"`
}

// A WhatIfRemoval is a node that would be removed.
type WhatIfRemoval struct {
	Node           string   `json:"node"`
	Type           string   `json:"type"`
	DollarsPerHour *float64 `json:"dollarsPerHour"`
	Reason         string   `json:"reason"`
}

// A WhatIfRefusal is a group of pods that would have no node.
type WhatIfRefusal struct {
	Pod    string `json:"pod"`
	Count  int    `json:"count"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}
