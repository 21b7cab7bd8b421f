{{- define "agui.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "agui.settings" -}}
{{- if not (hasPrefix "s3://" .Values.files) }}
{{- fail "files: name a bucket, such as s3://bucket/prefix. Pods have no directory that the others see." }}
{{- end }}
{{- $own := dict "AGUI_PUBLIC_URL" (printf "https://%s" .Values.host) "AGUI_DATA_DIR" "/var/lib/agui" "AGUI_FILES" .Values.files }}
{{- /* Workers answer scrapes here; web pods answer them at /metrics, with AGUI_METRICS_KEY of the secret. */}}
{{- $_ := set $own "AGUI_METRICS_ADDRESS" "0.0.0.0:9464" }}
{{- range $name, $value := merge (dict) .Values.settings $own }}
{{ $name }}: {{ include "agui.text" $value | quote }}
{{- end }}
{{- end }}

{{- /* A value as an environment variable has it: Helm reads numbers as floats, and prints 1e+06. */}}
{{- define "agui.text" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{- define "agui.labels" -}}
app.kubernetes.io/name: agui
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "agui.env" -}}
- configMapRef: {name: {{ .Release.Name }}}
- secretRef: {name: {{ .Values.secrets.host }}}
{{- end }}

{{- /* What every pod has: an account without rights, and two directories. */}}
{{- define "agui.pod" -}}
automountServiceAccountToken: false
{{- with .Values.serviceAccount }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - {name: tmp, emptyDir: {}}
  - {name: data, emptyDir: {}}
{{- end }}

{{- /* What every container has. */}}
{{- define "agui.container" -}}
image: {{ include "agui.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: data, mountPath: /var/lib/agui}
{{- end }}

{{- define "agui.migrated" -}}
# Fails, and is started again, until the Job has migrated to this version.
- name: migrated
  command: ["python", "manage.py", "migrate", "--check"]
  envFrom:
    {{- include "agui.env" . | nindent 4 }}
  resources: {requests: {cpu: 100m, memory: 256Mi}, limits: {memory: 1Gi}}
  {{- include "agui.container" . | nindent 2 }}
{{- end }}

{{- /* Pods of one Deployment on different nodes and in different zones, if there are several. */}}
{{- define "agui.spread" -}}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector: {matchLabels: {app: {{ $ }}}}
{{- end }}
{{- end }}
