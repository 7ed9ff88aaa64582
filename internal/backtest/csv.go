package backtest

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A column is one property of a pod.
type column int

const (
	colName column = iota
	colNamespace
	colOwner
	colCPU
	colCPUMilli
	colMemory
	colMemoryMiB
	colGPUs
	colShare
	colCreated
	colDeleted
	columnCount
)

// columnNames are the accepted headers of each column. The first is our own; the others are used by public traces.
var columnNames = [columnCount][]string{
	colName:      {"name", "pod", "pod_name"},
	colNamespace: {"namespace"},
	colOwner:     {"owner", "app", "job"},
	colCPU:       {"cpu"},
	colCPUMilli:  {"cpu_milli", "cpu (milli)"},
	colMemory:    {"memory"},
	colMemoryMiB: {"memory_mib", "memory (mib)"},
	colGPUs:      {"gpu", "num_gpu", "gpu_count", "gpus"},
	colShare:     {"gpu_milli", "gpu_share", "share"},
	colCreated:   {"creation", "creation_time", "created"},
	colDeleted:   {"deletion", "deletion_time", "deleted"},
}

// The largest amounts that one pod may request.
const (
	maxMilli = 1_000_000_000 // a million cores
	maxBytes = 1 << 50
	maxGPUs  = 10_000
	// hugeMilli is more than any instance type has.
	hugeMilli = 1_000_000
)

// A csvShape has the properties in which pods of a CSV file may differ.
type csvShape struct {
	namespace, owner                       string
	milli, memory /* bytes */, gpus, share int64
}

// csvReader is the state of reading a CSV file.
type csvReader struct {
	in     *lines
	bad    *mistakes
	at     [columnCount]int // index of each column in a line, -1 for a column that the file lacks
	width  int
	shapes map[csvShape]int32
	trace  Trace
	// huge is the number of the first line with more cores than any machine has, 0 if there is none.
	huge int
}

func readCSV(in *lines, bad *mistakes) (*Trace, error) {
	r := &csvReader{in: in, bad: bad, shapes: map[csvShape]int32{}}
	if err := r.header(); err != nil {
		return nil, err
	}
	if err := in.each(bad, r.row); err != nil {
		return nil, err
	}
	if r.huge > 0 {
		r.trace.Warnings = append(r.trace.Warnings, fmt.Sprintf(
			"%s:%d: cpu is in cores, and this pod requests more than %d; if the numbers are thousandths, name the column cpu_milli",
			bad.file, r.huge, hugeMilli/1000))
	}
	return &r.trace, nil
}

// fields splits a line. A quoted field may have commas, but no end of a line.
func fields(line []byte) ([]string, error) {
	if !bytes.ContainsRune(line, '"') {
		return strings.Split(string(line), ","), nil
	}
	return csv.NewReader(bytes.NewReader(line)).Read()
}

func (r *csvReader) header() error {
	line, err := r.in.next()
	if err != nil {
		return fmt.Errorf("read %s: %w", r.bad.file, err)
	}
	names, err := fields(line)
	if err != nil {
		return fmt.Errorf("%s:%d: read the header: %w", r.bad.file, r.in.number, err)
	}
	r.width = len(names)
	for c := range r.at {
		r.at[c] = slices.IndexFunc(names, func(name string) bool {
			return slices.Contains(columnNames[c], strings.ToLower(strings.TrimSpace(name)))
		})
	}
	var unknown []string
	for i, name := range names {
		if !slices.Contains(r.at[:], i) {
			unknown = append(unknown, strings.TrimSpace(name))
		}
	}
	if len(unknown) > 0 {
		r.trace.Warnings = append(r.trace.Warnings, "columns that are not used: "+strings.Join(unknown, ", "))
	}
	for _, need := range [][]column{{colCPU, colCPUMilli}, {colMemory, colMemoryMiB}, {colCreated}} {
		if !slices.ContainsFunc(need, func(c column) bool { return r.at[c] >= 0 }) {
			var ways []string
			for _, c := range need {
				ways = append(ways, columnNames[c][0])
			}
			r.bad.add(r.in.number, "header", "no column %s; the header has %s", strings.Join(ways, " or "), strings.Join(names, ", "))
		}
	}
	return r.bad.err()
}

// row reads the pod in one line.
func (r *csvReader) row(line []byte) {
	cells, err := fields(line)
	if err != nil {
		r.bad.add(r.in.number, "line", "%v; close the quotes in the same line", err)
		return
	}
	if len(cells) != r.width {
		r.bad.add(r.in.number, "line", "has %d fields and the header %d; quote fields that have commas", len(cells), r.width)
		return
	}
	s := csvShape{namespace: "default", share: 1000}
	before := len(r.bad.list)
	if v := r.cell(cells, colNamespace); v != "" {
		s.namespace = v
	}
	s.owner = r.cell(cells, colOwner)
	s.milli = r.amount(cells, colCPU, colCPUMilli, 1, maxMilli, (*resource.Quantity).MilliValue)
	s.memory = r.amount(cells, colMemory, colMemoryMiB, 1<<20, maxBytes, (*resource.Quantity).Value)
	if v := r.cell(cells, colShare); v != "" {
		s.share = r.count(v, colShare, 1000)
	}
	if v := r.cell(cells, colGPUs); v != "" {
		s.gpus = r.count(v, colGPUs, maxGPUs)
	} else if r.at[colGPUs] < 0 && s.share > 0 && r.at[colShare] >= 0 {
		s.gpus = 1
	}
	if s.gpus == 0 || s.share == 0 {
		s.gpus, s.share = 0, 0
	}
	p := Pod{Deleted: never}
	if v := r.cell(cells, colCreated); v != "" {
		p.Created = r.time(v, colCreated)
	} else {
		r.bad.add(r.in.number, r.title(colCreated), "is empty; give seconds, or a time such as 2026-01-05T12:00:00Z")
	}
	if v := r.cell(cells, colDeleted); v != "" {
		p.Deleted = r.time(v, colDeleted)
	}
	if len(r.bad.list) > before {
		return
	}
	if p.Deleted < p.Created {
		r.bad.add(r.in.number, r.title(colDeleted), "%s is before the creation %s; correct one of them, or leave the deletion empty",
			r.cell(cells, colDeleted), r.cell(cells, colCreated))
		return
	}
	p.Shape = r.shape(s)
	r.trace.Pods = append(r.trace.Pods, p)
}

// shape returns the index of the shape in the trace, and adds the shape if it is new.
func (r *csvReader) shape(s csvShape) int32 {
	if n, ok := r.shapes[s]; ok {
		return n
	}
	n := int32(len(r.trace.Shapes))
	s.namespace, s.owner = strings.Clone(s.namespace), strings.Clone(s.owner) // the buffer of the line is used again
	r.shapes[s] = n
	r.trace.Shapes = append(r.trace.Shapes, Shape{Template: s.template(n), GPUs: s.gpus, Share: s.share})
	return n
}

// template returns a pod of the shape with index n. If the file has no owner, all pods of the shape get the same owner.
func (s csvShape) template(n int32) *corev1.Pod {
	owner := s.owner
	if owner == "" {
		owner = fmt.Sprintf("shape-%d", n)
	}
	yes := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Labels: map[string]string{"app": owner},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(s.namespace + "/" + owner), Controller: &yes,
		}},
	}}
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(s.milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(s.memory, resource.BinarySI),
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	return p
}

func (r *csvReader) cell(cells []string, c column) string {
	if r.at[c] < 0 {
		return ""
	}
	return strings.TrimSpace(cells[r.at[c]])
}

// title returns the name of the column for messages.
func (r *csvReader) title(c column) string { return columnNames[c][0] }

// amount returns an amount in its smallest unit. It is read from the column number, in multiples of unit, or else from the
// column quantity. It may be at most most. If it is invalid, amount adds a mistake and returns 0; without a value in either
// column it returns 0.
func (r *csvReader) amount(cells []string, quantity, number column, unit, most int64, of func(*resource.Quantity) int64) int64 {
	if v := r.cell(cells, number); v != "" {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 0) || f > float64(most/unit) {
			r.bad.add(r.in.number, r.title(number), "%q is not a number from 0 to %d", v, most/unit)
			return 0
		}
		return int64(math.Ceil(f * float64(unit)))
	}
	v := r.cell(cells, quantity)
	if v == "" {
		return 0
	}
	q, err := resource.ParseQuantity(v)
	limit := resource.NewQuantity(most, resource.DecimalSI)
	if quantity == colCPU {
		limit = resource.NewMilliQuantity(most, resource.DecimalSI)
	}
	if err != nil || q.Sign() < 0 || q.Cmp(*limit) > 0 {
		r.bad.add(r.in.number, r.title(quantity), "%q is not an amount from 0 to %s, such as 500m or 2Gi", v, limit.String())
		return 0
	}
	v64 := of(&q)
	if quantity == colCPU && v64 > hugeMilli && r.huge == 0 {
		r.huge = r.in.number
	}
	return v64
}

// count returns a whole number from 0 to most.
func (r *csvReader) count(v string, c column, most int64) int64 {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > float64(most) {
		r.bad.add(r.in.number, r.title(c), "%q is not a whole number from 0 to %d", v, most)
		return 0
	}
	return int64(f)
}

// time parses a number of seconds since 1970, or a time as in RFC 3339. It returns milliseconds since 1970.
func (r *csvReader) time(v string, c column) int64 {
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		if f >= 0 && f <= lastTime/1000 {
			return int64(math.Round(f * 1000))
		}
	} else if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
		if ms := at.UnixMilli(); ms >= 0 && ms <= lastTime {
			return ms
		}
	}
	r.bad.add(r.in.number, r.title(c), "%q is not a time; give seconds from 0 on, or a time such as 2026-01-05T12:00:00Z", v)
	return 0
}
