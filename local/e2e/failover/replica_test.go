package failover

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// A replica is a process of the controller.
type replica struct {
	cmd     *exec.Cmd
	metrics string // URL
	token   string
	ended   chan struct{}
	log     string
}

// scraper is a client that accepts the replicas' own certificates.
var scraper = &http.Client{Transport: &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is self-signed, on loopback
	DisableKeepAlives: true,
}}

// start starts a replica with leader election. It is killed when the test ends.
func start(t *testing.T, token string) *replica {
	t.Helper()
	dir := *logs
	if dir == "" {
		dir = t.TempDir()
	}
	file, err := os.CreateTemp(dir, "replica-*.log")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	r := &replica{token: token, log: file.Name()}
	r.run(t)
	t.Cleanup(func() { r.signal(t, syscall.SIGCONT); r.kill(t) })
	t.Cleanup(func() {
		if text, err := os.ReadFile(r.log); t.Failed() && err == nil {
			lines := strings.Split(string(text), "\n")
			t.Logf("log of replica %d:\n%s", r.cmd.Process.Pid, strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	})
	return r
}

// run starts the process. It may be called again after the process has ended.
func (r *replica) run(t *testing.T) {
	t.Helper()
	metrics, health := freePort(t), freePort(t)
	aws, err := os.ReadFile(here.Cluster.Dir().AWSEnv())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r.metrics, r.ended = fmt.Sprintf("https://127.0.0.1:%d/metrics", metrics), make(chan struct{})
	r.cmd = exec.Command(filepath.Join(*binaries, "karpenter"), "controller", "--provider=aws") //nolint:gosec,noctx // the process runs longer than this function
	r.cmd.Env = append(append(os.Environ(), strings.Fields(string(aws))...),
		"KUBECONFIG="+here.Cluster.Dir().ControllerKubeconfig(), "SYSTEM_NAMESPACE="+cluster.Namespace, "LEADER_ELECTION_NAMESPACE="+cluster.Namespace,
		"METRICS_PORT="+strconv.Itoa(metrics), "HEALTH_PROBE_PORT="+strconv.Itoa(health), "METRICS_TLS=true", "METRICS_AUTHENTICATION=true",
		"CLUSTER_NAME="+cluster.Name, "CLUSTER_ENDPOINT="+here.Cluster.Endpoint(), "INTERRUPTION_QUEUE="+cluster.Name,
		"KUBE_CLIENT_QPS=20", "KUBE_CLIENT_BURST=5") // slow, so that the stages of a scale-up can be observed
	r.cmd.Stdout, r.cmd.Stderr = file, file
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := r.cmd, r.ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended does not matter, because tests kill it
		file.Close()
	}()
}

// freePort returns a port on which no process listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// signal sends a signal to the replica unless it has ended.
func (r *replica) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if !r.running() {
		return
	}
	if err := r.cmd.Process.Signal(s); err != nil && r.running() {
		t.Errorf("send %s: %v", s, err)
	}
}

// kill ends the replica with SIGKILL.
func (r *replica) kill(t *testing.T) {
	t.Helper()
	r.signal(t, syscall.SIGKILL)
	<-r.ended
}

func (r *replica) running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// scrape returns the status of a request for metrics, and those metrics that have only one series, without labels.
func (r *replica) scrape(ctx context.Context, token string) (int, map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.metrics, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := scraper.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, nil, err
	}
	out := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	return resp.StatusCode, out, lines.Err()
}

// leads reports whether the replica is the leader.
func (r *replica) leads(ctx context.Context) bool {
	if !r.running() {
		return false
	}
	_, m, err := r.scrape(ctx, r.token)
	return err == nil && m["leader_election_master_status"] == 1
}

// pair starts two replicas and returns the leader and the standby.
func pair(t *testing.T) (leader, standby *replica) {
	t.Helper()
	token := prometheus(t)
	a, b := start(t, token), start(t, token)
	here.Poll(t, func(ctx context.Context) string {
		switch {
		case a.leads(ctx):
			leader, standby = a, b
		case b.leads(ctx):
			leader, standby = b, a
		default:
			return fmt.Sprintf("no replica leads (the replicas run: %v, %v)", a.running(), b.running())
		}
		return ""
	})
	return leader, standby
}

// prometheus returns the token of a ServiceAccount that may scrape metrics.
func prometheus(t *testing.T) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "prometheus"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cluster.ControllerName + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	for _, o := range []client.Object{account, binding} {
		if err := client.IgnoreAlreadyExists(here.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	return tokenOf(t, account)
}

func tokenOf(t *testing.T, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := here.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}
