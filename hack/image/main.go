package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	version := flag.String("version", "dev", "version of the program, and tag of the image")
	commit := flag.String("commit", "", "commit the program is built from")
	arch := flag.String("arch", "amd64,arm64", "architectures")
	out := flag.String("out", "dist/image", "directory of the OCI layout; a relative one is below root")
	signKey := flag.String("sign-key", os.Getenv("IMAGE_SIGNING_KEY"),
		"PEM file with the ECDSA key that signs the image and its provenance, as cosign verifies; empty for no signature")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	key, err := signingKey(*signKey) // before Chdir, so that a relative path is relative to the caller's directory
	if err == nil {
		err = os.Chdir(*root)
	}
	if err == nil {
		err = run(ctx, origin{version: *version, commit: *commit, architectures: strings.Split(*arch, ",")}, key, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o origin, key *ecdsa.PrivateKey, out string) error {
	at, err := epoch(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	o.epoch = at
	texts := map[string][]byte{}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		if texts[name], err = os.ReadFile(name); err != nil {
			return fmt.Errorf("-root is not the root of the repository: %w", err)
		}
	}
	var platforms []platform
	for _, arch := range o.architectures {
		fmt.Println("building for linux/" + arch)
		binary, err := build(ctx, arch, o.version, o.commit)
		if err != nil {
			return err
		}
		bill, err := sbom(binary, o.version, at)
		if err != nil {
			return err
		}
		platforms = append(platforms, platform{arch, binary, bill})
	}
	labels := map[string]string{
		"org.opencontainers.image.title": "karpenter", "org.opencontainers.image.version": o.version,
		"org.opencontainers.image.source":   "https://github.com/karpenter-go/karpenter",
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.created": at.UTC().Format(time.RFC3339),
	}
	if o.commit != "" {
		labels["org.opencontainers.image.revision"] = o.commit
	}
	index, err := layout{out}.write(platforms, labels, texts, at)
	if err != nil {
		return err
	}
	for _, p := range platforms {
		name := filepath.Join(filepath.Dir(out), "karpenter-"+o.version+"-linux-"+p.arch+".spdx.json")
		if err := os.WriteFile(name, p.sbom, 0o644); err != nil {
			return fmt.Errorf("write bill of materials: %w", err)
		}
	}
	if err := (layout{out}).attest(index, o, key); err != nil {
		return err
	}
	signed := "not signed: no -sign-key"
	if key != nil {
		signed = "signed: tags " + tagOf(index, "sig") + " and " + tagOf(index, "att")
	}
	fmt.Printf("%s holds %s, digest %s, %s\n", out, o.version, index.Digest, signed)
	return nil
}

// epoch parses SOURCE_DATE_EPOCH, a number of seconds since 1970. If value is empty, it returns the start of 1970.
func epoch(value string) (time.Time, error) {
	if value == "" {
		return time.Unix(0, 0), nil
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, want seconds since 1970", value)
	}
	return time.Unix(seconds, 0), nil
}

// build compiles the program for an architecture as a static binary that contains no paths of this machine.
func build(ctx context.Context, arch, version, commit string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing depends on it
	target := filepath.Join(dir, "karpenter")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", target,
		"-ldflags", "-s -w -buildid= -X main.version="+version+" -X main.commit="+commit, "./cmd/karpenter")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build for %s: %w", arch, err)
	}
	binary, err := os.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("read binary: %w", err)
	}
	return binary, static(binary)
}

// static returns an error if a binary needs a loader or libraries, which the image does not have.
func static(binary []byte) error {
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("read binary: %w", err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("the binary is not static: it asks for a loader")
		}
	}
	return nil
}
