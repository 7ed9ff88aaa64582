package dashboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// web is the source of the page with its tests.
const web = "../../../web"

// browsers are the names of the browsers with which the page can be tested.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// prepare returns the path of a browser. It installs what the tests of the page need: the packages in web/package-lock.json,
// and Debian's Chromium if the user is root or the test runs in continuous integration. If one of them cannot be installed, it
// skips the test.
func prepare(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser")
	}
	browser, err := findBrowser()
	if err != nil {
		t.Skip("the page was not tested:", err)
	}
	if err := installPackages(t.Context()); err != nil {
		t.Skip("the page was not tested:", err)
	}
	return browser
}

func findBrowser() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	if path := lookUp(); path != "" {
		return path, nil
	}
	if os.Getenv("CI") != "true" && os.Geteuid() != 0 {
		return "", errors.New("there is no Chromium, and it may not be installed here")
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "chromium"}} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("there is no Chromium, and apt-get %s failed: %w: %s", args[0], err, lastLine(out))
		}
	}
	if path := lookUp(); path != "" {
		return path, nil
	}
	return "", errors.New("there is no Chromium, although it was installed")
}

func lookUp() string {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// installPackages installs the packages of the page, unless they are installed and not older than the lock file.
func installPackages(ctx context.Context) error {
	lock, err := os.Stat(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return err
	}
	if there, err := os.Stat(filepath.Join(web, "node_modules", ".package-lock.json")); err == nil && !there.ModTime().Before(lock.ModTime()) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = web
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci failed: %w: %s", err, lastLine(out))
	}
	return nil
}

// node runs a script of web/package.json with additional environment variables. If the script fails, the test fails.
func node(t *testing.T, script string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "npm", "run", "--silent", script)
	cmd.Dir, cmd.Env = web, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("npm run %s\n%s", script, out)
	if err != nil {
		t.Fatalf("npm run %s: %v", script, err)
	}
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
