package learned

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

const (
	// MapName is the name of the ConfigMap with the observations.
	MapName = "karpenter-discovered-memory"
	mapKey  = "memory.json"
	// saveEvery is the interval at which new observations are written.
	saveEvery = time.Minute
	// imagesKept is the number of images that are kept for one type: those observed last.
	imagesKept = 4
)

// A sight is the observed memory of nodes with an instance type and an image.
type sight struct {
	// Bytes is the least memory of a node of this type and image.
	Bytes int64 `json:"bytes"`
	// Seen is when a node of this type and image was observed last.
	Seen time.Time `json:"seen"`
}

// Config has the dependencies and settings of a Store.
type Config struct {
	// Client writes the ConfigMap. Reader reads it from the API server, because a cache would watch all ConfigMaps.
	Client client.Client
	Reader client.Reader
	Clock  clock.PassiveClock
	// Expected returns the memory of a type in bytes, and false if the type is not known.
	Expected func(instanceType string) (int64, bool)
	Metrics  prometheus.Registerer
	// Namespace is the namespace of the controller. If it is empty, nothing is stored.
	Namespace string
}

// A Store holds the observations. It is safe for concurrent use.
type Store struct {
	Config
	ignored *prometheus.CounterVec

	mu       sync.Mutex                  // guards the rest
	sights   map[string]map[string]sight // by type and image
	loaded   bool
	changed  bool
	told     bool // the missing permission was logged
	revision uint64
}

// New returns an empty Store.
func New(c Config) *Store {
	s := &Store{Config: c, sights: map[string]map[string]sight{}, ignored: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "karpenter_cloudprovider_instance_memory_reports_ignored_total",
		Help: "Reports of nodes with less than half of the memory of their instance type, which were ignored.",
	}, []string{"instance_type"})}
	c.Metrics.MustRegister(s.ignored)
	return s
}

// plausible reports whether nodes of the type may have this amount of memory: at least half of the type's memory. The
// kernel and the hypervisor use much less than half. A lower value comes from a defective kubelet. If it were used,
// plans would no longer contain the type.
func (s *Store) plausible(instanceType string, bytes int64) bool {
	expected, known := s.Expected(instanceType)
	return bytes > 0 && (!known || bytes >= expected/2)
}

// Memory returns the observed memory in bytes of nodes with the type and image. If there is no observation, it returns
// the least memory with any other image, and false if there is none either.
func (s *Store) Memory(instanceType, image string) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.sights[instanceType]
	if exact, ok := of[image]; ok {
		return exact.Bytes, true
	}
	least := int64(0)
	for _, v := range of {
		if least == 0 || v.Bytes < least {
			least = v.Bytes
		}
	}
	return least, least > 0
}

// Revision returns a number that changes whenever a result of Memory may change.
func (s *Store) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Learn records the memory of a node. Nodes of one type differ slightly, so the least memory is
// kept. Amounts that are not plausible, and nodes without a type or an image, are ignored.
func (s *Store) Learn(instanceType, image string, bytes int64) {
	if instanceType == "" || image == "" {
		return
	}
	if !s.plausible(instanceType, bytes) {
		s.ignored.WithLabelValues(instanceType).Inc()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(instanceType, image, sight{Bytes: bytes, Seen: s.Clock.Now().UTC().Truncate(time.Second)})
}

// note merges one observation. The caller holds mu.
func (s *Store) note(instanceType, image string, v sight) {
	of := s.sights[instanceType]
	if of == nil {
		of = map[string]sight{}
		s.sights[instanceType] = of
	}
	old, known := of[image]
	if known && v.Bytes >= old.Bytes {
		v.Bytes = old.Bytes
		if v.Seen.Sub(old.Seen) < 24*time.Hour {
			return // not worth a write
		}
	}
	if !known || v.Bytes != old.Bytes {
		s.revision++
	}
	of[image], s.changed = v, true
	if len(of) > imagesKept {
		oldest := ""
		for k := range of {
			if oldest == "" || cmp.Or(of[k].Seen.Compare(of[oldest].Seen), cmp.Compare(k, oldest)) < 0 {
				oldest = k
			}
		}
		delete(of, oldest)
	}
}

// Task returns the task that reads the ConfigMap at start and writes new observations.
func (s *Store) Task() periodic.Task {
	return periodic.Task{Label: "providers.instancetype.memory", Run: func(ctx context.Context) (time.Duration, error) {
		return saveEvery, s.Sync(ctx)
	}}
}

// Sync reads the ConfigMap if it was not read yet or if there are new observations. It merges both and writes the
// result if there are new observations. A ConfigMap that cannot be parsed is overwritten.
func (s *Store) Sync(ctx context.Context) error {
	s.mu.Lock()
	loaded, changed := s.loaded, s.changed
	s.mu.Unlock()
	if s.Namespace == "" || loaded && !changed {
		return nil
	}
	var stored corev1.ConfigMap
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: MapName}, &stored)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return s.refused(ctx, fmt.Errorf("read what was learned: %w", err))
	}
	s.merge(ctx, stored.Data[mapKey])
	text, ok, err := s.text()
	if err != nil || !ok {
		return err
	}
	if missing {
		err = s.Client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: MapName}, Data: map[string]string{mapKey: text},
		})
	} else {
		if stored.Data == nil {
			stored.Data = map[string]string{}
		}
		stored.Data[mapKey] = text
		err = s.Client.Update(ctx, &stored)
	}
	if err != nil {
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		return s.refused(ctx, fmt.Errorf("write down what was learned: %w", err))
	}
	return nil
}

// refused returns err, unless a permission is missing. In that case it logs the error once and returns nil, and the
// observations stay in memory only.
func (s *Store) refused(ctx context.Context, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	s.mu.Lock()
	told := s.told
	s.told = true
	s.mu.Unlock()
	if !told {
		log.FromContext(ctx).Info("not authorized to write ConfigMap: discovered instance memory is lost on restart (chart value extraPermissions.configMaps)",
			"ConfigMap", klog.KRef(s.Namespace, MapName))
	}
	return nil
}

// merge adds the stored observations to those of this process.
func (s *Store) merge(ctx context.Context, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.loaded = true
	var stored map[string]map[string]sight
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		log.FromContext(ctx).Error(err, "ignored unreadable discovered instance memory", "ConfigMap", klog.KRef(s.Namespace, MapName))
		return
	}
	for instanceType, of := range stored {
		for image, v := range of {
			if s.plausible(instanceType, v.Bytes) {
				s.note(instanceType, image, v)
			}
		}
	}
	s.changed = changed // stored observations need not be written again
}

// text returns the content to write, and false if there is nothing new.
func (s *Store) text() (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return "", false, nil
	}
	raw, err := json.Marshal(s.sights)
	if err != nil {
		return "", false, fmt.Errorf("write down what was learned: %w", err)
	}
	s.changed = false
	return string(raw), true, nil
}
