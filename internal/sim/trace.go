package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"net/http"
	"time"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A Trace is the sequence of the writes to the API server, except those of Events and Leases, of the calls to the cloud, of
// the events of the scenario, and of the ends of replicas, with their times.
type Trace struct {
	sum   hash.Hash64
	lines int
	start time.Time
	// out takes each line as text if it is not nil.
	out io.Writer
}

func newTrace(out io.Writer) *Trace { return &Trace{sum: fnv.New64a(), start: time.Now(), out: out} }

// Hash returns a hash of the trace, as 16 hexadecimal digits. It is equal for equal traces.
func (t *Trace) Hash() string { return fmt.Sprintf("%016x", t.sum.Sum64()) }

// Lines returns the number of entries.
func (t *Trace) Lines() int { return t.lines }

func (t *Trace) add(format string, args ...any) {
	t.lines++
	line := fmt.Sprintf("%9.3f ", time.Since(t.start).Seconds()) + fmt.Sprintf(format, args...) + "\n"
	io.WriteString(t.sum, line)
	if t.out != nil {
		io.WriteString(t.out, line)
	}
}

// kube adds a write to the API server. Events and leases are left out, since their names and holders are random.
func (t *Trace) kube(who string, q *kubeapi.Request, r kubeapi.Response) {
	if q.Method == http.MethodGet || quietKind(q.Path) {
		return
	}
	t.add("%s %s %s %d", who, q.Method, q.Path, r.Code)
}

func (t *Trace) cloud(who, op string) { t.add("%s %s", who, op) }
