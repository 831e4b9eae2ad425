//! Reads each case of the folder with arrow-rs; prints a line of JSON for each: its rows, or why there are none.

use std::{collections::HashMap, error::Error, fs::File, panic, path::Path};

use arrow_json::WriterBuilder;
use arrow_json::writer::JsonArray;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::encryption::decrypt::FileDecryptionProperties;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name the folder")?;
    let index: Value = serde_json::from_reader(File::open(Path::new(&folder).join("vectors.json"))?)?;
    for case in index["cases"].as_array().ok_or("no cases")? {
        let path = Path::new(&folder).join(case["file"].as_str().unwrap_or_default());
        let done = panic::catch_unwind(|| rows(case, &path).map_err(|failed| failed.to_string()));
        let rows = match done {
            Ok(Ok(rows)) => rows,
            Ok(Err(failed)) => json!(failed),
            Err(_) => json!("panicked"),
        };
        println!("{}", json!({"id": case["id"], "rows": rows}));
    }
    Ok(())
}

fn rows(case: &Value, path: &Path) -> Result<Value, Box<dyn Error>> {
    let footer_key = hex::decode(case["footerKey"].as_str().ok_or("unwraps no keys")?)?;
    let mut builder = FileDecryptionProperties::builder(footer_key);
    let keys: HashMap<String, String> = serde_json::from_value(case["columnKeys"].clone()).unwrap_or_default();
    for (column, key) in keys {
        builder = builder.with_column_key(&column, hex::decode(key)?);
    }
    if let Some(prefix) = case["aadPrefix"].as_str() {
        builder = builder.with_aad_prefix(prefix.into());
    }
    let options = ArrowReaderOptions::new().with_file_decryption_properties(builder.build()?);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(path)?, options)?.build()?;
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    for batch in reader {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    let text = writer.into_inner();
    Ok(if text.is_empty() { json!([]) } else { serde_json::from_slice(&text)? })
}
