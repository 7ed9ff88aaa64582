package control

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Duration is a time.Duration whose JSON is text such as "1m30s".
type Duration time.Duration

// MarshalJSON returns the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON parses text such as "1m30s".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("decode duration: want text such as \"30s\": %w", err)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("decode duration: %w", err)
	}
	*d = Duration(parsed)
	return nil
}

// A Pool selects capacity by instance type, zone and capacity type (spot or on-demand). Each field is a pattern.
type Pool struct {
	Type     string `json:"type,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Capacity string `json:"capacity,omitempty"`
}

// Capacity limits each matching pool to Limit instances.
type Capacity struct {
	Pool
	Limit int    `json:"limit"`          // 0: no capacity
	Code  string `json:"code,omitempty"` // error of launches beyond the limit; default InsufficientInstanceCapacity
}

// Price sets the price of the matching pools, in USD per hour. An empty Capacity means spot if a zone is given, otherwise
// on-demand.
type Price struct {
	Pool
	USD float64 `json:"usd"`
}

// Quota limits the vCPUs of a capacity type; a negative number removes the limit.
type Quota struct {
	Capacity string `json:"capacity"`
	VCPUs    int    `json:"vcpus"`
}

// Throttle limits the calls of Op by a token bucket that holds Burst tokens and gets Rate tokens per second.
type Throttle struct {
	Op    string  `json:"op"` // "CreateFleet", "ec2:Describe*", "*"
	Rate  float64 `json:"rate"`
	Burst int     `json:"burst,omitempty"` // default: Rate, but at least 1
}

// Fail makes Op return an error. With Code "html" the response is an HTML page with status 500, as from a broken proxy.
type Fail struct {
	Op      string `json:"op"`
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	Status  int    `json:"status,omitempty"` // default: the status that AWS sends with Code
	Times   int    `json:"times,omitempty"`  // 0: until cleared
}

// Hang delays calls of Op. If Type is set, it delays only calls with a matching instance type.
type Hang struct {
	Op    string   `json:"op"`
	Type  string   `json:"type,omitempty"`
	For   Duration `json:"for"`
	Times int      `json:"times,omitempty"` // 0: until cleared
	// After executes the operation first and delays only the response. So a client may time out although its call succeeded.
	// Errors are not delayed.
	After bool `json:"after,omitempty"`
}

// Boot changes how machines of the matching types start from now on.
type Boot struct {
	Type string `json:"type,omitempty"`
	// Delay replaces the boot delay if it is positive.
	Delay Duration `json:"delay,omitempty"`
	// Never makes the machine run without joining the cluster. Console is its console output then; if it is empty, there is a
	// default.
	Never   bool   `json:"never,omitempty"`
	Console string `json:"console,omitempty"`
}

// Lag makes the describe calls omit objects that are younger than For, as with EC2's eventual consistency. They return instances
// that are younger than Tags without their tags. Zero ends either.
type Lag struct {
	For  Duration `json:"for"`
	Tags Duration `json:"tags,omitempty"`
}

// Select selects instances by a pattern of their IDs or of the names of their Nodes.
type Select struct {
	Instances string `json:"instances"`
}

// Interrupt reclaims one spot instance, or Random of them.
type Interrupt struct {
	Instance string `json:"instance,omitempty"`
	Random   int    `json:"random,omitempty"`
}

// Event is about an instance, which keeps running. Kind is one of EventKinds.
type Event struct {
	Instance string `json:"instance"`
	Kind     string `json:"kind"`
	// Since is for how long a status check has been failing already.
	Since Duration `json:"since,omitempty"`
}

// EventKinds returns the kinds of an Event. rebalance and maintenance are messages in the queue. impaired, host-impaired,
// retirement and cancelled-retirement change the result of DescribeInstanceStatus. healthy resets that result.
func EventKinds() []string {
	return []string{"rebalance", "maintenance", "impaired", "host-impaired", "retirement", "cancelled-retirement", "healthy"}
}

// Policy applies IAM policies to all callers. Without documents, everything is allowed.
type Policy struct {
	Documents []string `json:"documents"`
}

// A Reservation is capacity of one type in one zone that is bought in advance.
type Reservation struct {
	ID            string            `json:"id,omitempty"` // only to cancel it
	Type          string            `json:"type,omitempty"`
	Zone          string            `json:"zone,omitempty"`
	Count         int               `json:"count,omitempty"`
	Targeted      bool              `json:"targeted,omitempty"` // only launches that name the reservation use it
	Block         bool              `json:"block,omitempty"`    // it is a capacity block
	Interruptible bool              `json:"interruptible,omitempty"`
	For           Duration          `json:"for,omitempty"` // 0: until it is cancelled, or a day for a block
	Tags          map[string]string `json:"tags,omitempty"`
}

// A Placement is a placement group to create.
type Placement struct {
	Name       string `json:"name"`
	Strategy   string `json:"strategy"`             // cluster, spread, partition
	Partitions int    `json:"partitions,omitempty"` // default 7
}

// A Shift is a zonal shift away from a zone for some time.
type Shift struct {
	Zone string   `json:"zone"` // name; empty for all zones when shifts are ended
	For  Duration `json:"for,omitempty"`
	// NotApplied is true if another shift has precedence, so that this one has no effect.
	NotApplied bool `json:"notApplied,omitempty"`
	// Unlisted is true if EC2 does not know the instances of the zone during the shift, in any call.
	Unlisted bool `json:"unlisted,omitempty"`
}

// An Instance is one line of the list of instances.
type Instance struct {
	ID           string            `json:"id"`
	State        string            `json:"state"`
	Type         string            `json:"type"`
	Zone         string            `json:"zone"`
	Capacity     string            `json:"capacity"`
	Reservation  string            `json:"reservation,omitempty"` // capacity reservation in which it runs
	Partition    int               `json:"partition,omitempty"`   // of its placement group
	PricePerHour float64           `json:"pricePerHour"`          // USD, as it was at launch
	Node         string            `json:"node"`                  // name of its Node
	Address      string            `json:"address"`
	Image        string            `json:"image"`
	Launched     time.Time         `json:"launched"`
	Reason       string            `json:"reason,omitempty"` // why it was stopped or terminated
	Tags         map[string]string `json:"tags"`
	Console      []string          `json:"console,omitempty"`
}

// A Call is one request that the emulator received.
type Call struct {
	Seq       int64             `json:"seq"` // from 1
	Time      time.Time         `json:"time"`
	Service   string            `json:"service"`
	Action    string            `json:"action"`
	Params    map[string]string `json:"params,omitempty"`
	Status    int               `json:"status"`
	Code      string            `json:"code,omitempty"` // error code
	RequestID string            `json:"requestId"`
	UserAgent string            `json:"userAgent,omitempty"`
}

// A Bill is what the account has been charged for instances.
type Bill struct {
	Instances []Charge `json:"instances"`
	Dollars   float64  `json:"dollars"`
}

// A Charge is what one instance cost. Its billing began at From. To is the end of the billing, or the current time.
type Charge struct {
	ID           string    `json:"id"`
	Type         string    `json:"type"`
	Zone         string    `json:"zone"`
	CapacityType string    `json:"capacityType"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`
	Dollars      float64   `json:"dollars"`
}
