package state

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/local/process"
)

func newDir(t *testing.T) Dir {
	t.Helper()
	dir, err := At(filepath.Join(t.TempDir(), "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Create(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPortsAreChosenOnce(t *testing.T) {
	dir := newDir(t)
	s, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	purposes := []string{"a", "b", "c"}
	if err := s.AssignPorts(purposes, map[string]int{"b": 4711}); err != nil {
		t.Fatal(err)
	}
	if s.Ports["b"] != 4711 {
		t.Errorf("b got port %d, want the one insisted on", s.Ports["b"])
	}
	ports := []int{s.Ports["a"], s.Ports["b"], s.Ports["c"]}
	slices.Sort(ports)
	if first := firstEphemeral(); s.Ports["a"] >= first || s.Ports["c"] >= first {
		t.Errorf("ports %v, want them below %d: a client that looks for a dead part could be given its port", s.Ports, first)
	}
	if slices.Contains(ports, 0) || len(slices.Compact(ports)) != 3 {
		t.Errorf("ports %v, want three different ones", s.Ports)
	}
	if err := dir.Save(s); err != nil {
		t.Fatal(err)
	}
	again, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.AssignPorts(append(purposes, "d"), nil); err != nil {
		t.Fatal(err)
	}
	for _, purpose := range purposes {
		if again.Ports[purpose] != s.Ports[purpose] {
			t.Errorf("port of %s moved from %d to %d", purpose, s.Ports[purpose], again.Ports[purpose])
		}
	}
	if again.Ports["d"] == 0 {
		t.Error("a new purpose got no port")
	}
	if err := again.AssignPorts(nil, map[string]int{"b": 4712}); err == nil {
		t.Error("a port was changed under a running cluster")
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := &State{Ports: map[string]int{"etcd": listener.Addr().(*net.TCPAddr).Port}}
	err = s.CheckPortFree("etcd")
	if err == nil || !strings.Contains(err.Error(), "etcd is taken") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line that names the part", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckPortFree("etcd"); err != nil {
		t.Errorf("port is free, but: %v", err)
	}
}

func TestStateComesBack(t *testing.T) {
	dir := newDir(t)
	if dir.Exists() {
		t.Error("an empty directory holds a cluster")
	}
	want := &State{
		Ports:    map[string]int{"etcd": 1},
		Parts:    map[string]process.ID{"etcd": {PID: 2, Born: "3", Binary: "/b"}},
		Settings: Settings{NodesBoot: "3s", Provider: "aws"},
	}
	if err := dir.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-saved +loaded):\n%s", diff)
	}
	if !dir.Exists() {
		t.Error("a saved cluster does not exist")
	}
}

func TestOneAtATime(t *testing.T) {
	dir := newDir(t)
	unlock, err := dir.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dir.Lock(impatient); err == nil {
		t.Error("locked twice")
	}
	unlock()
	unlock, err = dir.Lock(impatient)
	if err != nil {
		t.Errorf("lock after unlock: %v", err)
	}
	unlock()
}

// Remove does not delete a directory with files of a user, such as a mistyped --dir.
func TestRemoveSparesStrangers(t *testing.T) {
	dir := newDir(t)
	stranger := filepath.Join(string(dir), "thesis.tex")
	if err := os.WriteFile(stranger, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dir.Remove(); err == nil {
		t.Error("removed a directory that holds a stranger's file")
	}
	if err := os.Remove(stranger); err != nil {
		t.Fatal(err)
	}
	if err := dir.Save(&State{}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(dir)); !os.IsNotExist(err) {
		t.Errorf("directory is still there: %v", err)
	}
	if err := dir.Remove(); err != nil {
		t.Errorf("remove twice: %v", err)
	}
}
