# Contract lines in a second language: the shell that lies beside it counts the questions.
step=0
while read -r line; do
    case $line in
        *'"type":"move"'*)
            echo "$step"
            step=$((step + 1)) ;;
    esac
done
