package backtest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/units"
)

// A Trace is the pods of a cluster with the times at which they were created and deleted.
type Trace struct {
	// Shapes are the different kinds of pods in the trace. Pods of one shape are equal in all that decisions depend on: they differ
	// in their times, and may differ in name, node, images and status. Pod.Shape is an index of Shapes.
	Shapes []Shape
	// Pods are in the order in which they were read. After Cut, they are in the order of their creation.
	Pods []Pod
	// Begin is the start of the replayed period, and End its end. They are zero before Cut.
	Begin, End time.Time
	// Warnings are sentences for users about the input.
	Warnings []string

	// logged are the times of the first and of the last event of an audit log, zero for other traces.
	logged [2]time.Time
}

// A Shape has the common properties of equal pods.
type Shape struct {
	// Template is the pod without name and node.
	Template *corev1.Pod
	// GPUs is the number of accelerators of one pod, and Share the share of each that it uses, in thousandths.
	GPUs, Share int64
}

// A Pod is one pod of a trace. Times are milliseconds since 1970.
type Pod struct {
	Shape   int32
	Created int64
	// Deleted is the constant never if the pod was not deleted.
	Deleted int64
}

// never is the value of Deleted for a pod that was not deleted.
const never = math.MaxInt64

// lastTime is the end of the year 9999 in milliseconds since 1970, the latest time of a trace.
const lastTime = 253_402_300_799_999

// MaxPeriod is the longest period that is replayed.
const MaxPeriod = 366 * 24 * time.Hour

// Cut keeps only the pods that exist for some time between begin and begin + length, and sorts them by creation. If begin
// is zero, the period begins with the first pod. If length is 0, it ends with the last creation or deletion, or with the
// last event of an audit log. Cut returns an error if no pod remains, or if the period is longer than MaxPeriod or begins
// after the trace.
func (t *Trace) Cut(begin time.Time, length time.Duration) error {
	if len(t.Pods) == 0 {
		return errors.New("the trace has no pods")
	}
	first, last := int64(never), int64(0)
	for _, p := range t.Pods {
		first, last = min(first, p.Created), max(last, p.Created)
		if p.Deleted != never {
			last = max(last, p.Deleted)
		}
	}
	if !t.logged[1].IsZero() { // the log may have events after the last creation
		last = max(last, t.logged[1].UnixMilli())
	}
	from := first
	if !begin.IsZero() {
		from = begin.UnixMilli()
	}
	to := last
	if length > 0 {
		to = from + length.Milliseconds()
	}
	if to-from > MaxPeriod.Milliseconds() {
		return fmt.Errorf("the trace lasts %d days, and at most %d are replayed: name a part of it with --from and --duration",
			(to-from)/(24*time.Hour).Milliseconds(), int(MaxPeriod.Hours()/24))
	}
	if from >= last && last > first {
		return fmt.Errorf("the period begins at %s, and the trace is from %s to %s: correct --from", stamp(from), stamp(first), stamp(last))
	}
	all := len(t.Pods)
	t.Pods = slices.DeleteFunc(t.Pods, func(p Pod) bool { return p.Created >= to || p.Deleted <= from || p.Deleted == p.Created })
	if len(t.Pods) == 0 {
		return fmt.Errorf("none of %s exists between %s and %s; the trace is from %s to %s", units.Counted(all, "pod"), stamp(from), stamp(to),
			stamp(first), stamp(last))
	}
	slices.SortStableFunc(t.Pods, func(a, b Pod) int { return cmp.Compare(a.Created, b.Created) })
	t.Begin, t.End = time.UnixMilli(from).UTC(), time.UnixMilli(to).UTC()
	return nil
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// maxMistakes is the number of mistakes after which the rest of the file is not read.
const maxMistakes = 20

// Mistakes are errors in a trace, each with file, line, field and a correction.
type Mistakes []string

// Error returns a line for each mistake.
func (m Mistakes) Error() string {
	text := strings.Join(m, "\n")
	if len(m) >= maxMistakes {
		text += fmt.Sprintf("\nthe rest of the file was not read after %d mistakes", len(m))
	}
	return text
}

// mistakes collects Mistakes of one file.
type mistakes struct {
	file string
	list Mistakes
}

func (m *mistakes) add(line int, field, format string, args ...any) {
	m.list = append(m.list, fmt.Sprintf("%s:%d: %s: ", m.file, line, field)+fmt.Sprintf(format, args...))
}

func (m *mistakes) full() bool { return len(m.list) >= maxMistakes }

// err returns the mistakes as an error, nil if there are none.
func (m *mistakes) err() error {
	if len(m.list) == 0 {
		return nil
	}
	return m.list
}
