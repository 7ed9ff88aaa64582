package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client controls the emulator at BaseURL, such as http://127.0.0.1:4566.
type Client struct {
	BaseURL string
	HTTP    *http.Client // nil means http.DefaultClient
}

// SetCapacity limits the number of instances in each matching pool; a limit of 0 means no capacity at all.
func (c Client) SetCapacity(ctx context.Context, rule Capacity) error {
	return c.do(ctx, http.MethodPost, "capacity", rule, nil)
}

// ICE (insufficient capacity error) removes all capacity of the matching pools.
func (c Client) ICE(ctx context.Context, pool Pool) error {
	return c.SetCapacity(ctx, Capacity{Pool: pool})
}

// ClearCapacity removes the limits whose pools match.
func (c Client) ClearCapacity(ctx context.Context, pool Pool) error {
	return c.do(ctx, http.MethodDelete, "capacity", pool, nil)
}

// SetPrice sets the price of the matching pools from now on.
func (c Client) SetPrice(ctx context.Context, price Price) error {
	return c.do(ctx, http.MethodPost, "price", price, nil)
}

// ClearPrices restores the catalogue's prices.
func (c Client) ClearPrices(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "price", nil, nil)
}

// SetQuota limits the vCPUs of a capacity type.
func (c Client) SetQuota(ctx context.Context, quota Quota) error {
	return c.do(ctx, http.MethodPost, "quota", quota, nil)
}

// SetThrottle limits the rate of an operation's calls.
func (c Client) SetThrottle(ctx context.Context, t Throttle) error {
	return c.do(ctx, http.MethodPost, "throttle", t, nil)
}

// ThrottleAsEC2 makes calls use the token buckets that EC2 documents for its APIs. All buckets are full at first.
func (c Client) ThrottleAsEC2(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "throttle/ec2", nil, nil)
}

// Fail makes an operation return an error.
func (c Client) Fail(ctx context.Context, f Fail) error {
	return c.do(ctx, http.MethodPost, "fail", f, nil)
}

// Hang delays the calls of an operation.
func (c Client) Hang(ctx context.Context, h Hang) error {
	return c.do(ctx, http.MethodPost, "hang", h, nil)
}

// ClearFaults ends all throttling, errors and hangs of the matching operations. All hanging calls,
// also of other operations, continue at once.
func (c Client) ClearFaults(ctx context.Context, op string) error {
	return c.do(ctx, http.MethodDelete, "faults?op="+url.QueryEscape(op), nil, nil)
}

// SetBoot changes how machines start.
func (c Client) SetBoot(ctx context.Context, b Boot) error {
	return c.do(ctx, http.MethodPost, "boot", b, nil)
}

// ClearBoot makes machines start normally again.
func (c Client) ClearBoot(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "boot", nil, nil)
}

// Stop stops the running instances whose ID or Node matches the pattern, apart from spot instances, and returns their ids.
func (c Client) Stop(ctx context.Context, pattern string) (ids []string, err error) {
	return c.choose(ctx, "stop", Select{Instances: pattern})
}

// Start starts the stopped instances whose ID or Node matches the pattern, and returns their ids.
func (c Client) Start(ctx context.Context, pattern string) (ids []string, err error) {
	return c.choose(ctx, "start", Select{Instances: pattern})
}

// choose sends a control request that chooses instances, and returns their ids.
func (c Client) choose(ctx context.Context, path string, in any) ([]string, error) {
	var out struct {
		Instances []string `json:"instances"`
	}
	err := c.do(ctx, http.MethodPost, path, in, &out)
	return out.Instances, err
}

// SetLag makes the describe calls omit new objects, or the tags of new instances, for some time.
func (c Client) SetLag(ctx context.Context, l Lag) error {
	return c.do(ctx, http.MethodPost, "lag", l, nil)
}

// Interrupt reclaims spot instances and returns their ids.
func (c Client) Interrupt(ctx context.Context, i Interrupt) (ids []string, err error) {
	return c.choose(ctx, "interrupt", i)
}

// SetPolicy applies IAM policies to all callers from now on.
func (c Client) SetPolicy(ctx context.Context, documents ...string) error {
	return c.do(ctx, http.MethodPost, "policy", Policy{Documents: documents}, nil)
}

// Reserve buys capacity in advance and returns the reservation's id.
func (c Client) Reserve(ctx context.Context, r Reservation) (id string, err error) {
	return c.make(ctx, "reservation", r)
}

// Cancel cancels a reservation.
func (c Client) Cancel(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "reservation", Reservation{ID: id}, nil)
}

// Place creates a placement group and returns its id.
func (c Client) Place(ctx context.Context, p Placement) (id string, err error) {
	return c.make(ctx, "placement", p)
}

// make sends a control request that creates an object, and returns the id of the object.
func (c Client) make(ctx context.Context, path string, in any) (string, error) {
	var out struct {
		ID string `json:"id"`
	}
	err := c.do(ctx, http.MethodPost, path, in, &out)
	return out.ID, err
}

// ShiftAway begins a zonal shift away from a zone.
func (c Client) ShiftAway(ctx context.Context, s Shift) error {
	return c.do(ctx, http.MethodPost, "shift", s, nil)
}

// ShiftBack ends the zonal shift away from a zone, or all zonal shifts if the name is empty.
func (c Client) ShiftBack(ctx context.Context, zone string) error {
	return c.do(ctx, http.MethodDelete, "shift", Shift{Zone: zone}, nil)
}

// Event sends one of EventKinds about an instance.
func (c Client) Event(ctx context.Context, e Event) error {
	return c.do(ctx, http.MethodPost, "event", e, nil)
}

// Instances returns all instances that the account still has, in order of launch.
func (c Client) Instances(ctx context.Context) (list []Instance, err error) {
	err = c.do(ctx, http.MethodGet, "instances", nil, &list)
	return list, err
}

// Bill returns what the account has been charged for since the given time. The zero time means since the beginning.
func (c Client) Bill(ctx context.Context, since time.Time) (bill Bill, err error) {
	path := "bill"
	if !since.IsZero() {
		path += "?since=" + url.QueryEscape(since.Format(time.RFC3339Nano))
	}
	err = c.do(ctx, http.MethodGet, path, nil, &bill)
	return bill, err
}

// Calls returns the calls with numbers greater than since, 0 for all.
func (c Client) Calls(ctx context.Context, since int64) (list []Call, err error) {
	err = c.do(ctx, http.MethodGet, "calls?since="+strconv.FormatInt(since, 10), nil, &list)
	return list, err
}

// Reset restores the initial state of the account, and removes all faults and recorded calls.
func (c Client) Reset(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "reset", nil, nil)
}

// do sends one request and decodes the response into out, unless out is nil.
func (c Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode %s: %w", path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+"/_emulator/"+path, body)
	if err != nil {
		return fmt.Errorf("make request of %s: %w", path, err)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("steer emulator: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", path, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("steer emulator: %s: %s", path, strings.TrimSpace(string(data)))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decode answer of %s: %w", path, err)
	}
	return nil
}
