// Command proto writes the Go code of the protocol of providers from its definition in cloud/proto.
//
// The compiler is a Go library and the plugins are Go programs in tools/proto.mod, so no other tool is needed.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// source is the folder of the definitions, and definition the file in it.
const (
	source     = "cloud/proto"
	definition = "karpenter/cloud/v1/provider.proto"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	flag.Parse()
	err := os.Chdir(*root)
	if err == nil {
		err = run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "proto:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{source}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, definition)
	if err != nil {
		return fmt.Errorf("compile %s: %w", definition, err)
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{definition}, Parameter: proto.String("paths=source_relative"), ProtoFile: withImports(files),
	}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(ctx, plugin, request); err != nil {
			return fmt.Errorf("run %s: %w", plugin, err)
		}
	}
	return writeDescriptor(request.GetProtoFile())
}

// descriptor is the compiled definition, for languages that make messages at run time.
const descriptor = "karpenter/cloud/v1/provider.binpb"

// writeDescriptor writes the compiled definition, with its imports and without comments.
func writeDescriptor(files []*descriptorpb.FileDescriptorProto) error {
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range files {
		f = proto.Clone(f).(*descriptorpb.FileDescriptorProto)
		f.SourceCodeInfo = nil
		set.File = append(set.File, f)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(source, descriptor), data, 0o644)
}

// withImports returns the descriptors of the files, each after those that it imports.
func withImports(files linker.Files) []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		d := protodesc.ToFileDescriptorProto(f)
		if result, ok := f.(linker.Result); ok {
			d = result.FileDescriptorProto() // with comments
		}
		out = append(out, d)
	}
	for _, f := range files {
		add(f)
	}
	return out
}

// generate runs a plugin, which reads the request and returns files, and writes the files.
func generate(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest) error {
	in, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/proto.mod", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if response.Error != nil {
		return fmt.Errorf("answer: %s", response.GetError())
	}
	for _, f := range response.GetFile() {
		path := filepath.Join(source, f.GetName())
		if err := os.WriteFile(path, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
