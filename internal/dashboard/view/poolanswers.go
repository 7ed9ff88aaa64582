package view

import "time"

// A Pool is a NodePool.
type Pool struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
	Ready  bool   `json:"ready"`
	// Problem is why the NodePool launches nothing, Fix the change that helps.
	Problem        string    `json:"problem"`
	Fix            string    `json:"fix"`
	Nodes          int       `json:"nodes"`
	DollarsPerHour *float64  `json:"dollarsPerHour"`
	Limits         []Limit   `json:"limits"`
	Budgets        []Budget  `json:"budgets"`
	Requirements   []string  `json:"requirements"`
	Types          []TypeRow `json:"types"`
	TypesTotal     int       `json:"typesTotal"`
	Drifted        int       `json:"drifted"`
	Unhealthy      int       `json:"unhealthy"`
}

// A Limit is a limit of a NodePool. Text has both amounts as quantities.
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
	// Allowed is how many nodes the budget alone allows to be disrupted now, null while it is not active.
	Allowed *int `json:"allowed"`
	// Windows are the times of the next seven days in which the budget is active, begin and end. There are none without a
	// schedule: the budget is then always active.
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

// Capacity is what the cloud took away or refuses, and what is reserved.
type Capacity struct {
	Interruptions []Interruption `json:"interruptions"`
	Refused       []RefusedOffer `json:"refused"`
	Reservations  []Reservation  `json:"reservations"`
	Spot          []SpotZone     `json:"spot"`
	// Devices is the demand for devices by dynamic resource allocation.
	Devices Devices `json:"devices"`
}

// An Interruption is a notice of the cloud that was acted on.
type Interruption struct {
	Time time.Time `json:"time"`
	Node string    `json:"node"`
	Type string    `json:"type"`
	Zone string    `json:"zone"`
	Kind string    `json:"kind"`
}

// A RefusedOffer is a group of offerings that cannot be launched now, by zone, family of types and capacity type.
type RefusedOffer struct {
	Zone         string   `json:"zone"`
	Family       string   `json:"family"`
	CapacityType string   `json:"capacityType"`
	Types        []string `json:"types"`
	// Until is when they are tried again, null if that is not known.
	Until  *time.Time `json:"until"`
	Reason string     `json:"reason"`
}

// A Reservation is reserved capacity of the cloud. Used are the nodes of this cluster in it.
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
}

// A WhatIfRequest is a change whose effect is computed. Nothing is applied.
type WhatIfRequest struct {
	// Manifests is YAML of NodePools and workloads that are added or replaced.
	Manifests    string   `json:"manifests"`
	WithoutNodes []string `json:"withoutNodes"`
	// Prices are dollars per hour by instance type, or by type/zone/capacityType.
	Prices map[string]float64 `json:"prices"`
}

// A WhatIfSide is the fleet without or with the change, after the next plan and the next disruption.
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
