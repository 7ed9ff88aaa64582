{{/* Adds the default values that are missing. helm upgrade --reuse-values replaces the default values of this chart by those of the
chart that was installed before, for example upstream's. A value that was removed by null stays removed otherwise. */}}
{{- define "karpenter.complete" -}}
{{- if not (hasKey .Values "extraPermissions") }}
{{- include "karpenter.add" (list .Values (.Files.Get "files/values.yaml" | fromYaml)) }}
{{- end }}
{{- end }}

{{/* Adds to the first map the keys that only the second one has, at all depths. */}}
{{- define "karpenter.add" -}}
{{- $values := first . }}
{{- range $key, $default := last . }}
{{- if not (hasKey $values $key) }}
{{- $_ := set $values $key $default }}
{{- else if and (kindIs "map" $default) (kindIs "map" (index $values $key)) }}
{{- include "karpenter.add" (list (index $values $key) $default) }}
{{- end }}
{{- end }}
{{- end }}
